// A whole graph as its user wrote it: typed edge lists, node and edge columns, labels, splits, all by original
// id. What readers produce, generators make and partitioners cut. In memory or mapped (Tensor decides).
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
};

// Edges of one canonical type; edge i goes from sources[i] to destinations[i] (original ids).
struct EdgeSet {
  Tensor sources;                         // U32, I32, I64 or U64 [m]
  Tensor destinations;                    // same dtype and length
  std::map<std::string, Tensor> columns;  // each [m, ...]; m = num_edges()
  // With preprocessing, edge i may stand for another original edge: empty means i itself.
  Tensor original_ids;  // U64 [m], or empty

  uint64_t num_edges() const { return static_cast<uint64_t>(sources.num_rows()); }
};

// The named split of one node type: original ids, ascending and distinct within each part, parts disjoint.
struct NodeSplit {
  std::vector<uint64_t> train;
  std::vector<uint64_t> validation;
  std::vector<uint64_t> test;
};

// Edges as pairs of original ids, in the user's order.
struct EdgePairs {
  IdList sources;       // [k]
  IdList destinations;  // [k]
  // [k] original ids of the edges that are meant (EdgeSet::original_ids), which tells parallel ones apart; empty: not
  // said.
  IdList edge_ids = {};

  size_t size() const { return sources.size(); }
  friend bool operator==(const EdgePairs&, const EdgePairs&) = default;
};

// The named split of one edge type. Parts are pairs first: edges that are only measured need not be edges of the graph,
// and a pair means the same whatever is done to the edge lists. A pair may stand in a part twice.
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

// Every invariant above, plus: edge ends exist, floating columns are finite but for NaN in columns that may lack values
// (label_columns.h), BOOL columns are zeros and ones, split ids exist. One pass over everything, `threads` at once. The
// first violation as InvalidArgument or OutOfRange: what, where (type, column, row), what was expected.
Status ValidateSourceGraph(const SourceGraph& graph, int threads, const LabelColumns& labels = {});

}  // namespace espalier::graph
