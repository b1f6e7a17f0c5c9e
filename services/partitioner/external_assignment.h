// Reads the user's assignment of nodes to partitions, for the algorithm External: NumPy arrays, or the text files of
// DGL's partitioning tools (random_partition.py, parmetis_postprocess.py) with one partition number per line.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/located_source.h"
#include "services/graph/source_graph.h"

namespace espalier::partitioner {

// Finds the assignment at `uri`: the `.npy` and `.txt` files of a folder, or one file. NotFound if there are none.
Result<format::LocatedSource> FindExternalAssignment(const std::string& uri, const format::SourceAccess& access);

// Returns the assignment by NodeTypeId: [nodes] each. Reads `<path>/<node type>.npy`, or `.txt` if the folder has no
// .npy files; `path` may be the file itself if the graph has one node type. Uses only the schema and the node counts of
// `graph`. Text is checked here: every line is a partition number, and there are no more lines than nodes. Values and
// shapes of arrays, and the number of rows, are checked by the partitioner (MakeExternalPartitioner). NotFound names
// the missing file. OutOfRange and InvalidArgument name the file and, for text, the line.
Result<std::vector<Tensor>> ReadExternalAssignment(const std::string& path, const graph::SourceGraph& graph,
                                                   uint32_t num_partitions);

// Returns the SHA-256 of the names, sizes and contents of the assignment's files at `path`, a folder or one file: the
// .npy files of the folder, or its .txt files if it has no .npy files.
Result<std::string> ExternalAssignmentDigest(const std::string& path);

}  // namespace espalier::partitioner
