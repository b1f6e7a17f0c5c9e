// Preprocessing of a graph before training, in this order: drop self loops, add reverse edges, drop duplicates, hold
// out edges, convert features. Typed graphs get their reverse relations after edges are held out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/graph/feature_conversion.h"
#include "services/graph/source_graph.h"

namespace espalier::graph {

// The prefix of error messages about features.
inline constexpr char kConvertingFeatures[] = "converting features";

// Returns the relation that add_reverse_edges creates for a relation of a typed graph: "b:rev_r:a" for "a:r:b".
CanonicalEdgeType ReverseRelation(const CanonicalEdgeType& forward);
// Returns the schema of a typed graph with a reverse relation added for each edge type. InvalidArgument if the schema
// already contains one of the reverse relations.
Result<GraphSchema> WithReverseRelations(const GraphSchema& schema);

// Edges that are only used for evaluation and must not take part in message passing.
struct HeldOutEdges {
  std::string split;                         // name of the edge split
  std::string edge_type;                     // "a:r:b" or "r"; empty: see edge_types
  std::string reverse_edge_type;             // see PreprocessOptions::held_out; may be empty
  std::vector<std::string> edge_types = {};  // several names instead of edge_type; both empty: all edge types

  // Returns the names in edge_type or else in edge_types; empty: all edge types.
  std::vector<std::string> Names() const;
};

// Returns the edge types whose edges are held out, ascending and distinct. A name may also be that of a reverse
// relation that add_reverse_edges has not created yet: it then selects the forward relation. Returns NotFound if an
// edge type does not exist.
Result<std::vector<EdgeTypeId>> FindHeldOutEdgeTypes(const HeldOutEdges& held_out, const GraphSchema& schema,
                                                     bool add_reverse_edges);

struct PreprocessOptions {
  // Homogeneous graphs: adds (v, u) to the same edge type for every edge (u, v) that is not a self loop; the reverse of
  // original edge i of m has original ID m + i. Typed graphs: adds a relation "rev_<relation>" for every edge type; the
  // reverse edges are numbered in the same way. The reverse relation gets the splits of the edge type with the
  // endpoints of each pair swapped.
  bool add_reverse_edges = false;
  bool drop_self_loops = false;       // only in edge types whose endpoints have the same node type
  bool drop_duplicate_edges = false;  // of parallel edges, keeps the one with the smallest original ID
  // Drops all edges (u, v) that are a pair of the split's validation or test part, and all edges (v, u) of
  // reverse_edge_type. With add_reverse_edges, the reverse type needs no name: a homogeneous graph loses (v, u) from
  // the same edge type, and a typed graph gets no reverse of a dropped edge. The split loses the training pairs that
  // would be dropped if they were edges; its validation and test parts are unchanged.
  std::optional<HeldOutEdges> held_out = {};
  // Applied to floating-point node columns whose shape has two or more dimensions, except those in label_columns.
  FeatureConversion features = {};
  std::vector<std::string> label_columns = {"node-label"};
};

// The number of edges, over all types, that each step dropped or added.
struct EdgeChanges {
  uint64_t self_loops_dropped = 0;
  uint64_t reverses_added = 0;  // in homogeneous graphs including those that a later step dropped
  uint64_t duplicates_dropped = 0;
  uint64_t held_out_dropped = 0;
  uint64_t training_pairs_dropped = 0;  // from the split in held_out
  friend bool operator==(const EdgeChanges&, const EdgeChanges&) = default;
};

// Returns the preprocessed graph. `graph` must be valid (ValidateSourceGraph). Unchanged arrays are shared, not copied;
// changed columns are replaced one at a time, so that memory never holds two copies of all of them. Sets
// EdgeSet::original_ids for edge types in which an edge's position is no longer its original ID. `changes`, unless
// null, receives the numbers of changed edges.
//
// InvalidArgument: the options change edges of a graph whose edges have been changed before; a relation "rev_..."
// already exists; converting the features of a row gives a value that is not finite (ConvertFeatures); held_out's
// reverse type does not connect the same node types in the opposite direction; it is given although several edge types
// are held out, or although add_reverse_edges creates another reverse relation. NotFound: held_out's split or edge type
// does not exist.
Result<SourceGraph> Preprocess(SourceGraph graph, const PreprocessOptions& options, int threads,
                               EdgeChanges* changes = nullptr);

}  // namespace espalier::graph
