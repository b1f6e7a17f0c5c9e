// The user's own assignment of nodes to partitions, for the algorithm External: arrays, or the text files that DGL's
// partitioning tools leave (random_partition.py, parmetis_postprocess.py), a partition's number a line.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/source_place.h"
#include "services/graph/source_graph.h"

namespace espalier::partitioner {

// A folder's `.npy` and `.txt` files, or one file. NotFound: there are none.
Result<format::SourcePlace> FindExternalAssignment(const std::string& uri, const format::SourceAccess& access);

// By NodeTypeId: `<path>/<node type>.npy` (`.txt` where the folder has no .npy files), or the file `path` where there
// is one node type; of `graph` schema and numbers of nodes are looked at. What arrays hold, and how many rows there
// are, is checked by the partitioner; of text each line is checked here, and that there are no more than nodes.
// NotFound names the file that is missing, OutOfRange and InvalidArgument file and line.
Result<std::vector<Tensor>> ReadExternalAssignment(const std::string& path, const graph::SourceGraph& graph,
                                                   uint32_t num_partitions);

// SHA-256 over the names and bytes of the files that count at `path` (a folder or one file).
Result<std::string> ExternalAssignmentDigest(const std::string& path);

}  // namespace espalier::partitioner
