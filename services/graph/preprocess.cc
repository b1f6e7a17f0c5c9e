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
  if (!options.drop_self_loops && !options.add_reverse_edges && !options.drop_duplicate_edges) return {};
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    if (graph.edges[t].original_ids.empty()) continue;
    return InvalidArgument("edge type '" + graph.schema.edge_types()[t].Name() +
                           "' was preprocessed before: original edge ids would be lost");
  }
  return {};
}

void FilterEdges(SourceGraph& graph, EdgeTypeId type, const PreprocessOptions& options, int threads) {
  const NodeTypeId source = graph.schema.SourceOf(type), destination = graph.schema.DestinationOf(type);
  const bool symmetrise = options.add_reverse_edges && graph.schema.is_homogeneous();
  const bool drop_self_loops = options.drop_self_loops && source == destination;
  if (!symmetrise && !drop_self_loops && !options.drop_duplicate_edges) return;

  EdgeSet& edges = graph.edges[type.value];
  EdgeFilter filter(edges, symmetrise ? Reverses::kAdded : Reverses::kNone, threads);
  if (drop_self_loops) filter.DropSelfLoops();
  if (options.drop_duplicate_edges) filter.DropDuplicates(graph.nodes_of(destination).count);
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
  std::vector<uint64_t> num_original_edges;
  for (const EdgeSet& edges : graph.edges) num_original_edges.push_back(edges.num_edges());
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    FilterEdges(graph, EdgeTypeId(static_cast<uint16_t>(t)), options, threads);
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
