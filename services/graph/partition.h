// One partition of the graph as arrays: the content of the partition files, from which a graph server answers requests.
// Arrays are in memory or mapped from files (see Tensor). IDs of source nodes are global, IDs of owned nodes local.
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

// The owned nodes of one node type in one partition.
struct OwnedNodes {
  uint64_t count = 0;
  Tensor original_ids;  // U32 or U64 [count], ascending: owned nodes are numbered in original order
  // Features, labels and other columns by name, each [count, ...].
  std::map<std::string, Tensor> columns;
  // By column, for columns of I8 with scaled values: one scale for each element of a row, the same in all
  // partitions (feature_scales.h).
  std::map<std::string, std::vector<float>> scales = {};
};

// This partition's slice of the directory that maps original to global IDs of one node type. It covers the original IDs
// [first, first + global_ids.size()). Slices are equal ranges of original IDs: partition p of P holds
// [n * p / P, n * (p + 1) / P) of n nodes, whichever partitions own these nodes.
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

// The owned edges of one part of a named split of one edge type, as pairs of nodes. The owner of an edge's destination
// owns the edge. An edge's ordinal is its position in the user's order of the part. Entries ascend by ordinal.
struct EdgeSplitPart {
  uint64_t total = 0;   // edges of the part in all partitions
  Tensor sources;       // U32 or U64 [k], global ids
  Tensor destinations;  // U32 [k], local ids
  Tensor ordinals;      // U64 [k], ascending
  // For splits that distinguish parallel edges, U32 or U64 [k]: which edge each pair denotes, as a position in the
  // type's InEdges::indices. The position indices.num_rows() means any edge with the pair's endpoints. Empty: every
  // pair denotes any edge with its endpoints.
  Tensor positions = {};
};

enum class SplitPartName { kTrain = 0, kValidation = 1, kTest = 2 };
const char* ToString(SplitPartName part);  // "train", "validation", "test"

// The column of original node IDs, which every node type has.
inline constexpr const char* kOriginalIdColumn = "original_id";

// The prefix of edge columns that partitioning copies from a node column (or the original IDs) of each edge's source,
// because a partition has the columns of its own nodes only: "source.<column>".
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
  // split name -> edge type -> the three parts, indexed by SplitPartName.
  std::map<std::string, std::map<uint16_t, std::vector<EdgeSplitPart>>> edge_splits;
  // Optional, loaded on request: by EdgeTypeId, for the m in-edges of the type. An edge's original id is its row in the
  // user's file, or its entry in the `original_ids` of a graph.yaml. If preprocessing has added reverse edges to the n
  // edges of the file, the reverse of edge i has id n + i.
  std::vector<Tensor> original_edge_ids;                    // U32 or U64 [m]; empty where not loaded
  std::vector<std::map<std::string, Tensor>> edge_columns;  // each [m, ...]
  // Loads the original_edge_ids of all edge types on first use if they were not loaded before. May take long; returns
  // early when `stop` is requested. Thread-safe. Null: they cannot be loaded later.
  std::function<Result<std::vector<Tensor>>(const std::stop_token& stop)> load_original_edge_ids;
};

}  // namespace espalier::graph
