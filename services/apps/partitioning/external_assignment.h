// The user's own assignment of nodes to partitions, for the algorithm External.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/source_place.h"
#include "services/graph/schema.h"

namespace espalier::partitioning {

// A folder's `.npy` files, or one file. NotFound: there are none.
Result<format::SourcePlace> FindExternalAssignment(const std::string& uri, const format::SourceAccess& access);

// By NodeTypeId: `<path>/<node type>.npy`, or the file `path` where there is one node type. What the arrays hold is
// checked by the partitioner. NotFound names the file that is missing.
Result<std::vector<Tensor>> ReadExternalAssignment(const std::string& path, const graph::GraphSchema& schema);

// SHA-256 over the names and bytes of the `.npy` files at `path` (a folder or one file).
Result<std::string> ExternalAssignmentDigest(const std::string& path);

}  // namespace espalier::partitioning
