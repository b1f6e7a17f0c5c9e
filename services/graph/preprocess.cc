// Preprocess finds the held-out pairs of each edge type, drops them from the training part of the split, and filters
// the edges of each type (EdgeFilter). A homogeneous graph gets its reverse edges in the filter; a typed graph gets
// reverse relations afterwards, which share the arrays of the filtered edges. Features are converted last.
#include "services/graph/preprocess.h"

#include <algorithm>
#include <span>
#include <utility>

#include "services/base/parallel.h"
#include "services/graph/edge_filter.h"
#include "services/graph/feature_scales.h"

namespace espalier::graph {
namespace {

// Returns InvalidArgument if `options` request changes of edges and any edge type has original ids from an earlier
// preprocessing. Features may still be converted.
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

// Returns the edge type with this name or, if `makes_relations`, the one whose reverse relation will have this name.
Result<EdgeTypeId> FindTypeOrForward(const GraphSchema& schema, const std::string& name, bool makes_relations) {
  Result<EdgeTypeId> found = schema.FindEdgeType(name);
  if (found.ok() || !makes_relations) return found;
  for (uint16_t type = 0; type < schema.num_edge_types(); ++type) {
    const CanonicalEdgeType made = ReverseRelation(schema.EdgeType(EdgeTypeId(type)));
    if (name == made.relation || name == made.Name()) return EdgeTypeId(type);
  }
  return found;
}

// Returns the existing edge type that a document or flag names as the reverse of `type`. Returns nullopt if
// add_reverse_edges will create it.
Result<std::optional<EdgeTypeId>> FindExistingReverse(const GraphSchema& schema, EdgeTypeId type,
                                                      const std::string& name, bool add_reverse_edges) {
  const bool makes_relations = add_reverse_edges && !schema.is_homogeneous();
  const CanonicalEdgeType made = ReverseRelation(schema.EdgeType(type));
  if (makes_relations && (name == made.relation || name == made.Name())) return std::optional<EdgeTypeId>();
  ASSIGN_OR_RETURN(const EdgeTypeId found, schema.FindEdgeType(name));
  if (makes_relations) {
    // `type` would have two reverse types: the named one and the one that is created.
    return InvalidArgument("the reverse of '" + schema.EdgeType(type).Name() + "' would be both '" +
                           schema.EdgeType(found).Name() + "', which is named, and '" + made.Name() +
                           "', which adding reverse edges creates: name no reverse edge type, or add no reverse edges");
  }
  if (schema.SourceOf(found) == schema.DestinationOf(type) && schema.DestinationOf(found) == schema.SourceOf(type)) {
    return std::optional<EdgeTypeId>(found);
  }
  return InvalidArgument("the reverse edge type '" + schema.EdgeType(found).Name() +
                         "' does not reverse the node types of '" + schema.EdgeType(type).Name() + "'");
}

// Returns the held-out pairs of each edge type. Reverse relations that are yet to be created need none: they are made
// from the remaining edges.
Result<std::vector<Pairs>> FindHeldOutPairs(const SourceGraph& graph, const PreprocessOptions& options) {
  std::vector<Pairs> held_out(graph.edges.size());
  if (!options.held_out.has_value()) return held_out;
  const HeldOutEdges& requested = *options.held_out;
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types,
                   FindHeldOutEdgeTypes(requested, graph.schema, options.add_reverse_edges));
  if (types.empty()) return NotFound("there is no edge split '" + requested.split + "': the graph has no edge types");
  std::optional<EdgeTypeId> reverse;
  if (!requested.reverse_edge_type.empty()) {
    if (types.size() > 1) {
      return InvalidArgument("'" + requested.reverse_edge_type + "' is the reverse of one edge type, but edges of " +
                             std::to_string(types.size()) +
                             " edge types are held out: name the edge type; there are: " + graph.schema.EdgeTypeList());
    }
    ASSIGN_OR_RETURN(reverse, FindExistingReverse(graph.schema, types.front(), requested.reverse_edge_type,
                                                  options.add_reverse_edges));
  }
  if (options.add_reverse_edges && graph.schema.is_homogeneous()) reverse = types.front();
  const auto named = graph.edge_splits.find(requested.split);
  for (const EdgeTypeId type : types) {
    if (named == graph.edge_splits.end() || !named->second.contains(type.value)) {
      std::string existing;
      for (const auto& [name, by_type] : graph.edge_splits) {
        for (const auto& [other, split] : by_type) {
          existing +=
              (existing.empty() ? "'" : ", '") + name + "' of '" + graph.schema.edge_types()[other].Name() + "'";
        }
      }
      return NotFound("there is no split '" + requested.split + "' of edge type '" +
                      graph.schema.EdgeType(type).Name() + "'; the graph's splits of edges are " +
                      (existing.empty() ? "none" : existing));
    }
    for (const EdgePairs* pairs : {&named->second.at(type.value).validation, &named->second.at(type.value).test}) {
      const std::span<const uint64_t> sources = pairs->sources.ids(), destinations = pairs->destinations.ids();
      for (size_t i = 0; i < sources.size(); ++i) {
        held_out[type.value].emplace_back(sources[i], destinations[i]);
        if (reverse.has_value()) held_out[reverse->value].emplace_back(destinations[i], sources[i]);
      }
    }
  }
  for (Pairs& of_type : held_out) std::sort(of_type.begin(), of_type.end());
  return held_out;
}

// Removes the training pairs of the split that are in `held_out` and returns the number of removed pairs. The arrays of
// an edge type that loses no pair are kept, because they may be memory-mapped.
uint64_t DropTrainingPairs(SourceGraph& graph, const std::string& split, const std::vector<Pairs>& held_out) {
  uint64_t num_dropped = 0;
  for (auto& [type, parts] : graph.edge_splits.at(split)) {
    const Pairs& dropped = held_out[type];
    const std::span<const uint64_t> sources = parts.train.sources.ids();
    const std::span<const uint64_t> destinations = parts.train.destinations.ids();
    const std::span<const uint64_t> edge_ids = parts.train.edge_ids.ids();
    const auto is_dropped = [&](size_t i) {
      return std::binary_search(dropped.begin(), dropped.end(), std::pair(sources[i], destinations[i]));
    };
    size_t first = 0;
    while (first < sources.size() && !is_dropped(first)) ++first;
    if (first == sources.size()) continue;
    const auto end = static_cast<int64_t>(first);
    std::vector<uint64_t> kept_sources(sources.begin(), sources.begin() + end);
    std::vector<uint64_t> kept_destinations(destinations.begin(), destinations.begin() + end);
    std::vector<uint64_t> kept_ids;
    if (!edge_ids.empty()) kept_ids.assign(edge_ids.begin(), edge_ids.begin() + end);
    for (size_t i = first + 1; i < sources.size(); ++i) {
      if (is_dropped(i)) continue;
      kept_sources.push_back(sources[i]);
      kept_destinations.push_back(destinations[i]);
      if (!edge_ids.empty()) kept_ids.push_back(edge_ids[i]);
    }
    num_dropped += sources.size() - kept_sources.size();
    parts.train = {.sources = IdList::Of(Tensor::FromVector(std::move(kept_sources))),
                   .destinations = IdList::Of(Tensor::FromVector(std::move(kept_destinations))),
                   .edge_ids = IdList::Of(Tensor::FromVector(std::move(kept_ids)))};
  }
  return num_dropped;
}

// Drops edges of a type as `options` request, and adds the reverse edges of a homogeneous graph. Adds the numbers of
// changed edges to `changes`, unless null.
void FilterEdges(SourceGraph& graph, EdgeTypeId type, const PreprocessOptions& options, const Pairs& held_out,
                 int threads, EdgeChanges* changes) {
  const NodeTypeId source = graph.schema.SourceOf(type), destination = graph.schema.DestinationOf(type);
  const bool symmetrize = options.add_reverse_edges && graph.schema.is_homogeneous();
  const bool drop_self_loops = options.drop_self_loops && source == destination;
  if (!symmetrize && !drop_self_loops && !options.drop_duplicate_edges && held_out.empty()) return;

  EdgeSet& edges = graph.edges[type.value];
  EdgeFilter filter(edges, symmetrize ? Reverses::kAdded : Reverses::kNone, threads);
  uint64_t num_left = changes == nullptr ? 0 : filter.num_kept();
  if (changes != nullptr) changes->reverses_added += num_left - edges.num_edges();
  const auto count = [&](uint64_t EdgeChanges::*dropped) {
    if (changes == nullptr) return;
    const uint64_t num_before = std::exchange(num_left, filter.num_kept());
    changes->*dropped += num_before - num_left;
  };
  if (drop_self_loops) {
    filter.DropSelfLoops();
    count(&EdgeChanges::self_loops_dropped);
  }
  if (options.drop_duplicate_edges) {
    filter.DropDuplicates(graph.nodes_of(destination).count);
    count(&EdgeChanges::duplicates_dropped);
  }
  if (!held_out.empty()) {
    filter.DropPairs(held_out);
    count(&EdgeChanges::held_out_dropped);
  }
  edges = filter.Apply(std::move(edges));
}

// Returns the edges of the reverse relation, which share the arrays of `edges` with source and destination swapped. The
// reverse of the edge with original ID i gets num_original_edges + i.
EdgeSet Reverse(const EdgeSet& edges, uint64_t num_original_edges, int threads) {
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

EdgePairs Reverse(const EdgePairs& pairs, uint64_t num_original_edges) {
  return {.sources = pairs.destinations,
          .destinations = pairs.sources,
          .edge_ids = pairs.edge_ids.Plus(num_original_edges)};
}

// Changes the keys of the edge splits to the EdgeTypeIds in graph.schema, which has reverse relations, and adds the
// splits of the reverse relations. `types` lists the forward types by their earlier EdgeTypeIds, then their reverse
// types in the same order; there are num_original_edges.size() of each.
Status AddReverseSplits(SourceGraph& graph, const std::vector<CanonicalEdgeType>& types,
                        const std::vector<uint64_t>& num_original_edges) {
  const size_t num_forward = num_original_edges.size();
  for (auto& [name, by_type] : graph.edge_splits) {
    std::map<uint16_t, EdgeSplit> renumbered;
    for (auto& [type, split] : by_type) {
      ASSIGN_OR_RETURN(const EdgeTypeId reverse, graph.schema.FindEdgeType(types[num_forward + type].Name()));
      const uint64_t m = num_original_edges[type];
      renumbered[reverse.value] = {Reverse(split.train, m), Reverse(split.validation, m), Reverse(split.test, m)};
      ASSIGN_OR_RETURN(const EdgeTypeId forward, graph.schema.FindEdgeType(types[type].Name()));
      renumbered[forward.value] = std::move(split);
    }
    by_type = std::move(renumbered);
  }
  return {};
}

// Adds a reverse relation for each edge type. num_original_edges: by EdgeTypeId, before edges were dropped.
Status AddReverseRelations(SourceGraph& graph, const std::vector<uint64_t>& num_original_edges, int threads) {
  std::vector<CanonicalEdgeType> types = graph.schema.edge_types();
  std::vector<EdgeSet> edges = std::move(graph.edges);
  const size_t num_forward = types.size();
  for (size_t t = 0; t < num_forward; ++t) {
    types.push_back(ReverseRelation(CanonicalEdgeType(types[t])));
    edges.push_back(Reverse(edges[t], num_original_edges[t], threads));
  }
  ASSIGN_OR_RETURN(graph.schema, GraphSchema::Make(graph.schema.node_types(), types));
  graph.edges.assign(types.size(), {});
  for (size_t t = 0; t < types.size(); ++t) {
    ASSIGN_OR_RETURN(const EdgeTypeId id, graph.schema.FindEdgeType(types[t].Name()));
    graph.edges[id.value] = std::move(edges[t]);
  }
  return AddReverseSplits(graph, types, num_original_edges);
}

Status ConvertAllFeatures(SourceGraph& graph, const PreprocessOptions& options, int threads) {
  for (size_t t = 0; t < graph.nodes.size(); ++t) {
    for (auto& [name, column] : graph.nodes[t].columns) {
      if (!HoldsFeatures(name, column, options.label_columns)) continue;
      const std::string which = "node type '" + graph.schema.node_types()[t] + "', column '" + name + "'";
      if (!options.features.HasScales()) {
        ASSIGN_OR_RETURN(column, ConvertFeatures(column, options.features, threads).While(which));
        continue;
      }
      const bool normalizes = options.features.normalizes_rows;
      ASSIGN_OR_RETURN(const std::vector<double> largest,
                       FindLargestMagnitudes(column, normalizes, 0, graph.nodes[t].count, threads).While(which));
      std::vector<float>& scales = graph.nodes[t].scales[name] = ComputeScales(largest);
      column = ScaleToIntegers(column, normalizes, scales, threads);
    }
  }
  return {};
}

}  // namespace

CanonicalEdgeType ReverseRelation(const CanonicalEdgeType& forward) {
  return {forward.destination, "rev_" + forward.relation, forward.source};
}

Result<GraphSchema> WithReverseRelations(const GraphSchema& schema) {
  std::vector<CanonicalEdgeType> types = schema.edge_types();
  for (const CanonicalEdgeType& forward : schema.edge_types()) types.push_back(ReverseRelation(forward));
  return GraphSchema::Make(schema.node_types(), std::move(types));
}

std::vector<std::string> HeldOutEdges::Names() const {
  return edge_type.empty() ? edge_types : std::vector<std::string>{edge_type};
}

Result<std::vector<EdgeTypeId>> FindHeldOutEdgeTypes(const HeldOutEdges& held_out, const GraphSchema& schema,
                                                     bool add_reverse_edges) {
  std::vector<EdgeTypeId> types;
  for (const std::string& name : held_out.Names()) {
    ASSIGN_OR_RETURN(const EdgeTypeId type,
                     FindTypeOrForward(schema, name, add_reverse_edges && !schema.is_homogeneous()));
    types.push_back(type);
  }
  if (held_out.Names().empty()) {
    for (uint16_t type = 0; type < schema.num_edge_types(); ++type) types.emplace_back(type);
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

Result<SourceGraph> Preprocess(SourceGraph graph, const PreprocessOptions& options, int threads, EdgeChanges* changes) {
  if (changes != nullptr) *changes = {};
  RETURN_IF_ERROR(CheckEdgesAreOriginal(graph, options));
  ASSIGN_OR_RETURN(const std::vector<Pairs> held_out, FindHeldOutPairs(graph, options).While("holding out edges"));
  if (options.held_out.has_value()) {
    const uint64_t num_dropped = DropTrainingPairs(graph, options.held_out->split, held_out);
    if (changes != nullptr) changes->training_pairs_dropped = num_dropped;
  }
  std::vector<uint64_t> num_original_edges;
  for (const EdgeSet& edges : graph.edges) num_original_edges.push_back(edges.num_edges());
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    FilterEdges(graph, EdgeTypeId(static_cast<uint16_t>(t)), options, held_out[t], threads, changes);
  }
  if (options.add_reverse_edges && !graph.schema.is_homogeneous()) {
    for (const EdgeSet& edges : graph.edges) {
      if (changes != nullptr) changes->reverses_added += edges.num_edges();
    }
    RETURN_IF_ERROR(AddReverseRelations(graph, num_original_edges, threads).While("adding reverse relations"));
  }
  if (options.features.ChangesValues()) {
    RETURN_IF_ERROR(ConvertAllFeatures(graph, options, threads).While(kConvertingFeatures));
  }
  return graph;
}

}  // namespace espalier::graph
