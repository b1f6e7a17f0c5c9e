// What users usually do to a graph before training on it, in this order: drop self loops, add reverse edges, drop
// duplicates, hold out edges, normalise features.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/graph/source_graph.h"

namespace espalier::graph {

enum class FeatureNormalization { kNone, kRow };

// The relation that add_reverse_edges makes of one of a typed graph: "a:r:b" -> "b:rev_r:a".
CanonicalEdgeType ReverseRelation(const CanonicalEdgeType& forward);
// The schema of a typed graph with a reverse relation for each edge type. InvalidArgument where one is there already.
Result<GraphSchema> WithReverseRelations(const GraphSchema& schema);

// Edges that only measure a model and must not take part in message passing.
struct HeldOutEdges {
  std::string split;                         // of edges
  std::string edge_type;                     // "a:r:b" or "r"; empty: edge_types, or every one
  std::string reverse_edge_type;             // as PreprocessOptions::held_out says; may be empty
  std::vector<std::string> edge_types = {};  // several; edge_type is empty then

  // What edge_type and edge_types name; empty: every edge type.
  std::vector<std::string> Names() const;
};

// The edge types of a graph whose edges are held out, ascending, each once. A relation that add_reverse_edges is yet to
// make is named in the place of the one that it is made of. NotFound: no such edge type.
Result<std::vector<EdgeTypeId>> TypesToHoldOut(const HeldOutEdges& held_out, const GraphSchema& schema,
                                               bool add_reverse_edges);

struct PreprocessOptions {
  // Homogeneous graphs: edge (u, v) also as (v, u) in the same edge type, self loops excepted; the reverse of original
  // edge i of m has original id m + i. Typed graphs: relation "rev_<relation>" for every edge type, ids alike; the edge
  // type's splits are the reverse relation's too, with the ends of each pair swapped.
  bool add_reverse_edges = false;
  bool drop_self_loops = false;       // of edge types whose ends are of one node type
  bool drop_duplicate_edges = false;  // of several edges (u, v) of a type, that of the smallest original id stays
  // Edges with the ends of a pair of the split's validation or test part are dropped, every one of them; with them the
  // edges (v, u) of reverse_edge_type, or, where that is empty, those that add_reverse_edges makes. The split
  // stays, but for training pairs that are dropped by the same rule.
  std::optional<HeldOutEdges> held_out = {};
  // kRow: rows of floating node columns of two and more dimensions are divided by their sums; rows that sum to zero
  // stay. Labels are not features:
  FeatureNormalization normalize_features = FeatureNormalization::kNone;
  std::vector<std::string> label_columns = {"node-label"};
};

// How many edges, of all types together, each step has dropped or added.
struct EdgeChanges {
  uint64_t self_loops_dropped = 0;
  uint64_t reverses_added = 0;  // of which some may have been duplicates
  uint64_t duplicates_dropped = 0;
  uint64_t held_out_dropped = 0;
  uint64_t training_pairs_dropped = 0;  // of held_out's split
  friend bool operator==(const EdgeChanges&, const EdgeChanges&) = default;
};

// `graph` must be valid (ValidateSourceGraph). Arrays that do not change are shared, not copied; those that do are
// freed one by one on the way. EdgeSet::original_ids is set where edges no longer stand at their original numbers.
// InvalidArgument: edges to be changed of a graph whose edges were changed before, a relation "rev_..." that exists
// already, a row whose quotients are not finite, a reverse type of held_out that does not lead back or is named for
// more than one edge type. NotFound: a split or edge type of held_out that does not exist.
// `changes`, unless null, gets what was done to the edges.
Result<SourceGraph> Preprocess(SourceGraph graph, const PreprocessOptions& options, int threads,
                               EdgeChanges* changes = nullptr);

}  // namespace espalier::graph
