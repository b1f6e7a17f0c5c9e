// A loader is an EpochPlan with a LinkPlan (negatives, exclusion, columns) and a source of seeds. For a split the seeds
// come from the graph. A list or a rank's own share is wrapped in EdgeListSeeds after its ids and rows have been
// checked, so that errors of the arguments are returned by MakeEdgeLoaderSource and not by the first batch.
#include "services/client/loaders/edge_data_loader.h"

#include <algorithm>

#include "services/client/graph/split_reader.h"
#include "services/sampler/batches/link_batch.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {
namespace {

// Returns a plan of one trainer for edges of these types; the caller may set the trainers, the rank and the split.
Result<sampler::EpochPlan> MakePlan(const DistGraph& graph, const std::vector<EdgeTypeId>& types,
                                    const EdgeLoaderOptions& options) {
  if (options.batch_size == 0) return InvalidArgument("data loader: batch size 0, expected at least 1");
  sampler::EpochPlan plan;
  plan.split = "edges";
  plan.batch_size = options.batch_size;
  plan.shuffle = options.shuffle;
  sampler::LinkPlan links;
  links.negatives = options.negatives;
  links.exclude_batch = options.exclude_batch;
  links.edge_columns = options.edge_columns;
  links.want_pair_ids = options.want_pair_ids;
  for (const EdgeTypeId type : types) {
    const auto reverse = options.reverse_types.find(type);
    links.types.push_back(
        {type, reverse == options.reverse_types.end() ? std::nullopt : std::optional<EdgeTypeId>(reverse->second)});
  }
  for (const auto& [type, reverse] : options.reverse_types) {
    if (std::find(types.begin(), types.end(), type) != types.end()) continue;
    return InvalidArgument("reverse_types has a key for edge type " + std::to_string(type.value) +
                           ", which is not an edge type of the loader");
  }
  plan.seeds = std::move(links);
  RETURN_IF_ERROR(sampler::CheckLinkPlan(plan, graph.schema()));
  plan.seed_type = graph.schema().DestinationOf(types.front());
  return plan;
}

// Creates the source. If `seeds` is null, seeds are read from the graph's splits.
Result<EdgeLoaderSource> MakeEdgeSource(const DistGraph& graph, std::unique_ptr<EdgeListSeeds> seeds,
                                        sampler::EpochPlan plan, const EdgeLoaderOptions& options) {
  const LoaderSampling sampling{.by = options.sampled_by,
                                .sampling = options.sampling,
                                .threads = options.threads,
                                .batches_ahead = options.batches_ahead,
                                .want_edge_ids = options.want_edge_ids,
                                .feature_cache = options.feature_cache};
  EdgeLoaderSource source{.graph = graph.shared_partitions(), .seeds = std::move(seeds), .batches = nullptr};
  ASSIGN_OR_RETURN(source.batches, MakeLoaderBatches(graph, source.seeds.get(), std::move(plan), sampling));
  return source;
}

// Checks that nodes, the endpoints of edges, exist.
Status CheckEndpoints(const DistGraph& graph, NodeTypeId type, const std::vector<GlobalNodeId>& nodes) {
  const uint64_t num_nodes = graph.num_nodes(type);
  for (const GlobalNodeId node : nodes) {
    if (node.value < num_nodes) continue;
    return InvalidArgument("endpoint of an edge: node " + std::to_string(node.value) + " of type '" +
                           graph.schema().NodeTypeName(type) + "' is out of range [0, " + std::to_string(num_nodes) +
                           ")");
  }
  return Status();
}

// Checks that rows of these columns can be returned for every edge of the list: either EdgeList::rows has the column,
// with a row for every edge, or the edges have ids and the graph has the column or an attached tensor of that name.
Status CheckRowsOfEdges(const DistGraph& graph, const EdgeList& edges, const std::vector<std::string>& columns) {
  for (const auto& [column, rows] : edges.rows) {
    if (!rows.shape().empty() && static_cast<size_t>(rows.num_rows()) == edges.size()) continue;
    return InvalidArgument("a list of " + std::to_string(edges.size()) + " edges has " + rows.ToString() +
                           " as rows of the edge column '" + column + "', expected one row for each edge");
  }
  for (const std::string& column : columns) {
    if (edges.rows.contains(column)) continue;
    if (edges.ids.size() == edges.size()) {
      RETURN_IF_ERROR(
          graph.GatherEdgeRows(edges.type, column, {}).status());  // checks that the column or tensor exists
      continue;
    }
    return InvalidArgument("the list of edges has neither ids nor rows of the edge column '" + column +
                           "': for a share of a split, add the column to EdgeSplitOptions::columns");
  }
  return Status();
}

// Checks a list of edges: its lengths, its endpoints, and the ids and rows that the options require. edges.type must
// exist.
Status CheckEdges(const DistGraph& graph, const EdgeList& edges, const EdgeLoaderOptions& options) {
  if (edges.sources.size() != edges.size() || (!edges.ids.empty() && edges.ids.size() != edges.size())) {
    return InvalidArgument("a list of edges has " + std::to_string(edges.sources.size()) + " sources, " +
                           std::to_string(edges.size()) + " destinations and " + std::to_string(edges.ids.size()) +
                           " ids, expected equal numbers (or no ids)");
  }
  if (options.want_pair_ids && edges.ids.size() != edges.size()) {
    return InvalidArgument(
        "want_pair_ids: the list of edges has no ids; for a share of a split, set EdgeSplitOptions::want_ids");
  }
  RETURN_IF_ERROR(CheckEndpoints(graph, graph.schema().SourceOf(edges.type), edges.sources));
  RETURN_IF_ERROR(CheckEndpoints(graph, graph.schema().DestinationOf(edges.type), edges.destinations));
  return CheckRowsOfEdges(graph, edges, options.edge_columns);
}

}  // namespace

Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, const EdgesOfSplit& edges,
                                              const EdgeLoaderOptions& options) {
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakePlan(graph, edges.types, options));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> first,
                   sampler::FirstOrdinals(graph.partitions(), edges.types, edges.split, edges.part));
  // A query for no rows checks that the column exists. GatherEdgeRows would also accept attached tensors, which a split
  // does not support.
  for (const std::string& column : options.edge_columns) {
    const SplitReader reader(graph, edges.types.front(), edges.split, edges.part, 1);
    RETURN_IF_ERROR(reader.ReadRows(column, {}).status());
  }
  plan.split = edges.split;
  plan.part = edges.part;
  // first.back() is the total number of edges.
  plan.num_steps = CountLoaderSteps(first.back(), options.batch_size, options.last_batch);
  plan.num_trainers = graph.world_size();
  plan.rank = graph.rank();
  return MakeEdgeSource(graph, nullptr, std::move(plan), options);
}

Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, EdgeList edges,
                                              const EdgeLoaderOptions& options) {
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakePlan(graph, {edges.type}, options));
  RETURN_IF_ERROR(CheckEdges(graph, edges, options));
  plan.num_steps = CountLoaderSteps(edges.size(), options.batch_size, options.last_batch);
  plan.num_trainers = graph.world_size();
  plan.rank = graph.rank();
  return MakeEdgeSource(graph, std::make_unique<EdgeListSeeds>(graph.partitions(), std::move(edges)), std::move(plan),
                        options);
}

Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, EdgeShare share,
                                              const EdgeLoaderOptions& options) {
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakePlan(graph, {share.edges.type}, options));
  RETURN_IF_ERROR(CheckEdges(graph, share.edges, options));
  if (share.largest < share.edges.size()) {
    return InvalidArgument("EdgeShare has " + std::to_string(share.edges.size()) +
                           " edges, expected at most EdgeShare::largest, which is " + std::to_string(share.largest));
  }
  plan.num_steps = CountLoaderSteps(share.largest, options.batch_size, options.last_batch);
  plan.links()->owner = graph.rank();
  return MakeEdgeSource(graph, std::make_unique<EdgeListSeeds>(graph.partitions(), std::move(share.edges)),
                        std::move(plan), options);
}

}  // namespace espalier::client
