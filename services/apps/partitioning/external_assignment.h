// The user's own assignment of nodes to partitions, for the algorithm External.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/schema.h"

namespace espalier::partitioning {

// By NodeTypeId: `<uri>/<node type>.npy`, or the file that `uri` names where there is one node type. What the arrays
// hold is checked by the partitioner. NotFound names the file that is missing.
Result<std::vector<Tensor>> ReadExternalAssignment(const std::string& uri, const graph::GraphSchema& schema);

// SHA-256 over the names and bytes of the `.npy` files at `uri` (a folder or one file).
Result<std::string> ExternalAssignmentDigest(const std::string& uri);

}  // namespace espalier::partitioning
