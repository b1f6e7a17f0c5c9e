#include "services/graph/preprocess.h"

#include <algorithm>
#include <utility>

#include "services/base/parallel.h"
#include "services/graph/edge_filter.h"
#include "services/graph/feature_normalization.h"

namespace espalier::graph {
namespace {

// What leaves the edges alone may follow: an imported graph keeps the ids that its source gave them.
Status CheckEdgesAreOriginal(const SourceGraph& graph, const PreprocessOptions& options) {
  if (!options.drop_self_loops && !options.add_reverse_edges && !options.drop_duplicate_edges &&
      !options.held_out.has_value()) {
    return {};
  }
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    if (graph.edges[t].original_ids.empty()) continue;
    return InvalidArgument("edge type '" + graph.schema.edge_types()[t].Name() +
                           "' was preprocessed before: original edge ids would be lost");
  }
  return {};
}

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;  // (source, destination), ascending

// The edge type of a name that may be left out where there is one.
Result<EdgeTypeId> EdgeTypeOf(const GraphSchema& schema, const std::string& name) {
  if (!name.empty()) return schema.FindEdgeType(name);
  if (schema.num_edge_types() == 1) return EdgeTypeId(0);
  return InvalidArgument("the graph has " + std::to_string(schema.num_edge_types()) + " edge types: name one");
}

// By edge type: what must go. Reverse relations that are yet to be made are made of what is left.
Result<std::vector<Pairs>> PairsToHoldOut(const SourceGraph& graph, const PreprocessOptions& options) {
  std::vector<Pairs> held_out(graph.edges.size());
  if (!options.held_out.has_value()) return held_out;
  const HeldOutEdges& of = *options.held_out;
  ASSIGN_OR_RETURN(const EdgeTypeId type, EdgeTypeOf(graph.schema, of.edge_type));
  const auto named = graph.edge_splits.find(of.split);
  if (named == graph.edge_splits.end() || !named->second.contains(type.value)) {
    return NotFound("there is no split '" + of.split + "' of edge type '" + graph.schema.EdgeType(type).Name() + "'");
  }
  std::optional<EdgeTypeId> reverse;
  if (!of.reverse_edge_type.empty()) {
    const Result<EdgeTypeId> found = graph.schema.FindEdgeType(of.reverse_edge_type);
    if (!found.ok() && !options.add_reverse_edges) return found.status();
    if (found.ok()) reverse = *found;
  } else if (options.add_reverse_edges && graph.schema.is_homogeneous()) {
    reverse = type;
  }
  for (const EdgePairs* pairs : {&named->second.at(type.value).validation, &named->second.at(type.value).test}) {
    for (size_t i = 0; i < pairs->size(); ++i) {
      held_out[type.value].emplace_back(pairs->sources[i], pairs->destinations[i]);
      if (reverse.has_value()) held_out[reverse->value].emplace_back(pairs->destinations[i], pairs->sources[i]);
    }
  }
  for (Pairs& of_type : held_out) std::sort(of_type.begin(), of_type.end());
  return held_out;
}

void FilterEdges(SourceGraph& graph, EdgeTypeId type, const PreprocessOptions& options, const Pairs& held_out,
                 int threads) {
  const NodeTypeId source = graph.schema.SourceOf(type), destination = graph.schema.DestinationOf(type);
  const bool symmetrise = options.add_reverse_edges && graph.schema.is_homogeneous();
  const bool drop_self_loops = options.drop_self_loops && source == destination;
  if (!symmetrise && !drop_self_loops && !options.drop_duplicate_edges && held_out.empty()) return;

  EdgeSet& edges = graph.edges[type.value];
  EdgeFilter filter(edges, symmetrise ? Reverses::kAdded : Reverses::kNone, threads);
  if (drop_self_loops) filter.DropSelfLoops();
  if (options.drop_duplicate_edges) filter.DropDuplicates(graph.nodes_of(destination).count);
  filter.DropPairs(held_out);
  edges = filter.Apply(std::move(edges));
}

// The reverse of a relation shares its arrays, with source and destination swapped. `num_original_edges` is the m of
// original id m + i.
EdgeSet Reversed(const EdgeSet& edges, uint64_t num_original_edges, int threads) {
  EdgeSet reversed{.sources = edges.destinations, .destinations = edges.sources, .columns = edges.columns};
  const auto m = static_cast<int64_t>(edges.num_edges());
  reversed.original_ids = Tensor::Zeros(DType::kU64, {m});
  const auto ids = reversed.original_ids.mutable_values<uint64_t>();
  ParallelFor(threads, m, kCheapGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      ids[i] = num_original_edges + (edges.original_ids.empty() ? i : edges.original_ids.values<uint64_t>()[i]);
    }
  });
  return reversed;
}

Status AddReverseRelations(SourceGraph& graph, const std::vector<uint64_t>& num_original_edges, int threads) {
  std::vector<CanonicalEdgeType> types = graph.schema.edge_types();
  std::vector<EdgeSet> edges = std::move(graph.edges);
  const size_t num_forward = types.size();
  for (size_t t = 0; t < num_forward; ++t) {
    const CanonicalEdgeType forward = types[t];
    types.push_back({forward.destination, "rev_" + forward.relation, forward.source});
    edges.push_back(Reversed(edges[t], num_original_edges[t], threads));
  }
  ASSIGN_OR_RETURN(graph.schema, GraphSchema::Make(graph.schema.node_types(), types));
  graph.edges.assign(types.size(), {});
  for (size_t t = 0; t < types.size(); ++t) {
    ASSIGN_OR_RETURN(const EdgeTypeId id, graph.schema.FindEdgeType(types[t].Name()));
    graph.edges[id.value] = std::move(edges[t]);
  }
  return {};
}

Status NormalizeFeatures(SourceGraph& graph, const std::vector<std::string>& label_columns, int threads) {
  for (size_t t = 0; t < graph.nodes.size(); ++t) {
    for (auto& [name, column] : graph.nodes[t].columns) {
      const bool is_label = std::count(label_columns.begin(), label_columns.end(), name) > 0;
      if (is_label || !IsFloating(column.dtype()) || column.shape().size() < 2) continue;
      ASSIGN_OR_RETURN(column, NormalizedRows(column, threads)
                                   .While("node type '" + graph.schema.node_types()[t] + "', column '" + name + "'"));
    }
  }
  return {};
}

}  // namespace

Result<SourceGraph> Preprocess(SourceGraph graph, const PreprocessOptions& options, int threads) {
  RETURN_IF_ERROR(CheckEdgesAreOriginal(graph, options));
  ASSIGN_OR_RETURN(const std::vector<Pairs> held_out, PairsToHoldOut(graph, options).While("holding out edges"));
  std::vector<uint64_t> num_original_edges;
  for (const EdgeSet& edges : graph.edges) num_original_edges.push_back(edges.num_edges());
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    FilterEdges(graph, EdgeTypeId(static_cast<uint16_t>(t)), options, held_out[t], threads);
  }
  if (options.add_reverse_edges && !graph.schema.is_homogeneous()) {
    RETURN_IF_ERROR(AddReverseRelations(graph, num_original_edges, threads).While("adding reverse relations"));
  }
  if (options.normalize_features == FeatureNormalization::kRow) {
    RETURN_IF_ERROR(NormalizeFeatures(graph, options.label_columns, threads).While("normalising features"));
  }
  return graph;
}

}  // namespace espalier::graph
