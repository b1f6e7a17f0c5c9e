// One partition's part of the graph, as arrays: what the partition files hold and a shard answers from.
// Arrays are owned or mapped (Tensor decides); ids of sources are global, rows are local.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/partition_book.h"

namespace espalier::graph {

// The in-edges of the owned destination nodes of one edge type, CSC.
// Edge ids are implicit: position k of `indices` is global edge id book.EdgeFirst(type)[partition] + k.
// In-edges of a node are ordered by (time column if declared, source's original id, original edge id).
struct InEdges {
  Tensor indptr;   // U32 [n + 1] where the partition has fewer than 2^32 edges of the type, else U64
  Tensor indices;  // global ids of sources: U32 [m] where the source type has fewer than 2^32 nodes, else U64
};

// What one partition knows of one node type.
struct OwnedNodes {
  uint64_t count = 0;
  Tensor original_ids;  // U32 or U64 [count], ascending: owned nodes are numbered in original order
  // Features, labels and other columns by name, each [count, ...].
  std::map<std::string, Tensor> columns;
};

// This partition's slice of the original-to-global directory of one node type: the global id of original ids
// [first, first + global_ids.size()). Slices are equal ranges of original ids: partition p of P holds
// [n * p / P, n * (p + 1) / P), whoever owns those nodes.
struct DirectorySlice {
  uint64_t first = 0;
  Tensor global_ids;  // U32 or U64
};

// The owned nodes of one part (train, validation or test) of a named split of one node type.
// A node's ordinal is its position among the part's nodes of all partitions, ordered by original id.
struct SplitPart {
  uint64_t total = 0;  // nodes of the part in all partitions
  Tensor local_ids;    // U32 [k], ascending
  Tensor ordinals;     // U64 [k], ascending (owned nodes are numbered in original order)
};

// The owned edges of one part of a named split of one edge type, as pairs: an edge belongs to its destination's
// partition. An edge's ordinal is its position in the user's order of the part. Entries ascend by ordinal.
struct EdgeSplitPart {
  uint64_t total = 0;   // edges of the part in all partitions
  Tensor sources;       // U32 or U64 [k], global ids
  Tensor destinations;  // U32 [k], local ids
  Tensor ordinals;      // U64 [k], ascending
  // Where the split says which of several edges a pair means: U32 or U64 [k] positions in the type's InEdges::indices,
  // or their number: any edge with these ends. Empty: that is so for all.
  Tensor positions = {};
};

enum class SplitPartName { kTrain = 0, kValidation = 1, kTest = 2 };
const char* ToString(SplitPartName part);  // "train", "validation", "test"

// Nodes' original ids, as a column's name: every node type has it.
inline constexpr const char* kOriginalIdColumn = "original_id";

// An edge column that partitioning makes out of a node column (or the original ids) of each edge's source, because a
// partition knows no other node's columns than its own: "source.<column>".
inline constexpr std::string_view kSourceColumnPrefix = "source.";
inline std::string SourceColumnName(std::string_view node_column) {
  return std::string(kSourceColumnPrefix) + std::string(node_column);
}

struct Partition {
  PartitionId id;
  std::vector<OwnedNodes> nodes;          // by NodeTypeId
  std::vector<InEdges> in_edges;          // by EdgeTypeId
  std::vector<DirectorySlice> directory;  // by NodeTypeId
  // split name -> node type -> the three parts, indexed by SplitPartName.
  std::map<std::string, std::map<uint16_t, std::vector<SplitPart>>> splits;
  // split name -> edge type -> the three parts, likewise.
  std::map<std::string, std::map<uint16_t, std::vector<EdgeSplitPart>>> edge_splits;
  // Optional, loaded on request: by EdgeTypeId. An edge's original id is its row in the user's file; a derived reverse
  // edge of edge i of m has m + i.
  std::vector<Tensor> original_edge_ids;                    // U32 or U64 [m]; empty where not loaded
  std::vector<std::map<std::string, Tensor>> edge_columns;  // each [m, ...]
  // Gets original_edge_ids that were not loaded, for all edge types, once somebody needs them; null: there is no way.
  // May take long, and ends early when it is asked to stop. Thread-safe.
  std::function<Result<std::vector<Tensor>>(const std::stop_token& stop)> load_original_edge_ids;
};

}  // namespace espalier::graph
