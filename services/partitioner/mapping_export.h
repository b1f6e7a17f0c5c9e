// Which partition and which global id the user's nodes and edges got, as arrays that NumPy reads.
#pragma once

#include <string>

#include "services/format/partition_files.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

// Writes into the folder `directory` (made if need be), for each node type T and each canonical edge type S:R:D:
//   nodes.T.partition.npy      I32 [nodes]              owner by original id
//   nodes.T.global.npy         I64 [nodes]              global id by original id
//   edges.S:R:D.partition.npy  I32 [largest id + 1]     owner by original edge id; -1: no such edge (dropped)
//   edges.S:R:D.global.npy     I64 [largest id + 1]     global id by original edge id; -1 likewise
// InvalidArgument: an original edge id, which is the source's to choose, that is more than 64 times the number of edges
// (and more than 2^24).
// Reads structure and original edge ids of all partitions, one after another; `load` says how they are reached.
Status ExportMappings(storage::ObjectStore& store, const std::string& prefix, const format::Manifest& manifest,
                      format::LoadOptions load, const std::string& directory);

}  // namespace espalier::partitioner
