// A whole graph as the user provides it: typed edge lists, node and edge columns, labels and splits, all by original
// ID. Readers and generators produce it; partitioners divide it. Arrays are in memory or mapped from files (see
// Tensor).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/id_list.h"
#include "services/graph/label_columns.h"
#include "services/graph/schema.h"

namespace espalier::graph {

// Node columns by name; row i belongs to original node i. Labels are columns too ("node-label").
struct NodeSet {
  uint64_t count = 0;
  std::map<std::string, Tensor> columns;  // each [count, ...]
  // By column, for columns of I8 with scaled values: one scale for each element of a row (feature_scales.h).
  std::map<std::string, std::vector<float>> scales = {};
};

// Edges of one canonical type; edge i goes from sources[i] to destinations[i] (original ids).
struct EdgeSet {
  Tensor sources;                         // U32, I32, I64 or U64 [m]
  Tensor destinations;                    // same dtype and length
  std::map<std::string, Tensor> columns;  // each [m, ...]; m = num_edges()
  // The original ID of each edge, if preprocessing changed the edges; empty: edge i has original ID i.
  Tensor original_ids;  // U64 [m], or empty

  uint64_t num_edges() const { return static_cast<uint64_t>(sources.num_rows()); }
};

// A named split of one node type: original IDs, ascending and distinct within each part. Parts are disjoint.
struct NodeSplit {
  std::vector<uint64_t> train;
  std::vector<uint64_t> validation;
  std::vector<uint64_t> test;
};

// Edges as pairs of original ids, in the user's order.
struct EdgePairs {
  IdList sources;       // [k]
  IdList destinations;  // [k]
  // [k] original IDs (EdgeSet::original_ids) of the edges, which distinguish parallel edges; empty: not specified.
  IdList edge_ids = {};

  size_t size() const { return sources.size(); }
  friend bool operator==(const EdgePairs&, const EdgePairs&) = default;
};

// A named split of one edge type. Parts are given as pairs of nodes, because edges used for evaluation need not be
// edges of the graph, and because pairs stay valid when the edge lists change. A part may contain a pair more than
// once.
struct EdgeSplit {
  EdgePairs train;
  EdgePairs validation;
  EdgePairs test;
};

struct SourceGraph {
  std::string name;
  GraphSchema schema;
  std::vector<NodeSet> nodes;  // by NodeTypeId
  std::vector<EdgeSet> edges;  // by EdgeTypeId
  // split name -> node type id -> split. ("public" -> {0: ...})
  std::map<std::string, std::map<uint16_t, NodeSplit>> splits;
  // split name -> edge type id -> split.
  std::map<std::string, std::map<uint16_t, EdgeSplit>> edge_splits;

  const NodeSet& nodes_of(NodeTypeId type) const { return nodes[type.value]; }
  const EdgeSet& edges_of(EdgeTypeId type) const { return edges[type.value]; }
};

// Checks the invariants above, that the graph has nodes, that names are valid, that the nodes of edges and splits
// exist, that the values of floating-point columns are finite (NaN is allowed in columns that may have missing values,
// label_columns.h), and that BOOL columns hold zeros and ones. Does not check `scales`, nor that edge ids of splits
// exist. Makes one pass over all data with `threads` threads. Returns the first violation as InvalidArgument or
// OutOfRange with the problem, its place (type, column, row) and the expected value.
Status ValidateSourceGraph(const SourceGraph& graph, int threads, const LabelColumns& labels = {});

}  // namespace espalier::graph
