// Exports the partition and the global ID of each node and edge of the user's graph as NumPy arrays.
#pragma once

#include <string>

#include "services/format/partition/partition_files.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

// Writes into the folder `directory`, which is created if it does not exist, for each node type T and each canonical
// edge type S:R:D:
//   nodes.T.partition.npy      I32 [nodes]              owner by original ID
//   nodes.T.global.npy         I64 [nodes]              global ID by original ID
//   edges.S:R:D.partition.npy  I32 [largest id + 1]     owner by original edge ID; -1 if no edge has it
//   edges.S:R:D.global.npy     I64 [largest id + 1]     global ID by original edge ID; -1 if no edge has it
// Loads the structure and the original edge IDs of one partition after another, and ignores the members of `load` that
// choose what is loaded. After all files have been written, they replace the files of an earlier export.
// InvalidArgument if an original edge ID is at least 2^24 plus 64 times the number of edges of its type (the input
// graph may give its edges any IDs).
Status ExportMappings(storage::ObjectStore& store, const std::string& prefix, const format::Manifest& manifest,
                      format::LoadOptions load, const std::string& directory);

}  // namespace espalier::partitioner
