// A loader is an EpochPlan and a source of seeds. For a split the seeds come from the graph. A list or a rank's own
// share is wrapped in NodeListSeeds; for a rank's own share the plan has one trainer, and an epoch is as long as that
// of the largest share.
#include "services/client/loaders/node_data_loader.h"

namespace espalier::client {
namespace {

// Returns the part of the plan that lists and splits have in common. The caller sets the split and the rank.
Result<sampler::EpochPlan> MakePlan(const DistGraph& graph, const NodeLoaderOptions& options) {
  if (options.batch_size == 0) return InvalidArgument("data loader: batch size 0, expected at least 1");
  RETURN_IF_ERROR(graph.schema().CheckNodeType(options.seed_type));
  sampler::EpochPlan plan;
  plan.seed_type = options.seed_type;
  plan.batch_size = options.batch_size;
  plan.shuffle = options.shuffle;
  return plan;
}

LoaderSampling MakeSampling(const NodeLoaderOptions& options) {
  return {.by = options.sampled_by,
          .sampling = options.sampling,
          .threads = options.threads,
          .batches_ahead = options.batches_ahead,
          .want_edge_ids = options.want_edge_ids,
          .feature_cache = options.feature_cache};
}

// Creates a source over a list of nodes for `rank` of `num_trainers` trainers. An epoch has `num_positions` seed
// positions, at least nodes.size(); positions after the last node have no seed.
Result<NodeLoaderSource> MakeSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes, uint64_t num_positions,
                                    uint32_t num_trainers, Rank rank, const NodeLoaderOptions& options) {
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakePlan(graph, options));
  for (const GlobalNodeId node : nodes) {
    if (node.value >= graph.num_nodes(options.seed_type)) {
      return InvalidArgument("node " + std::to_string(node.value) + " of type '" +
                             graph.schema().NodeTypeName(options.seed_type) + "' is out of range [0, " +
                             std::to_string(graph.num_nodes(options.seed_type)) + ")");
    }
  }
  plan.split = "nodes";
  plan.num_trainers = num_trainers;
  plan.rank = rank;
  NodeLoaderSource source{.graph = graph.shared_partitions(), .seeds = nullptr, .batches = nullptr};
  source.seeds = std::make_unique<NodeListSeeds>(options.seed_type, std::move(nodes), num_positions, options.batch_size,
                                                 options.last_batch);
  ASSIGN_OR_RETURN(source.batches,
                   MakeLoaderBatches(graph, source.seeds.get(), std::move(plan), MakeSampling(options)));
  return source;
}

}  // namespace

Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, const NodesOfSplit& nodes,
                                              const NodeLoaderOptions& options) {
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakePlan(graph, options));
  ASSIGN_OR_RETURN(const uint64_t total, graph.partitions().Count(options.seed_type, nodes.split, nodes.part));
  plan.split = nodes.split;
  plan.part = nodes.part;
  plan.num_steps = CountLoaderSteps(total, options.batch_size, options.last_batch);
  plan.num_trainers = graph.world_size();
  plan.rank = graph.rank();
  NodeLoaderSource source{.graph = graph.shared_partitions(), .seeds = nullptr, .batches = nullptr};
  ASSIGN_OR_RETURN(source.batches, MakeLoaderBatches(graph, nullptr, std::move(plan), MakeSampling(options)));
  return source;
}

Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                              const NodeLoaderOptions& options) {
  const uint64_t num_positions = nodes.size();
  return MakeSource(graph, std::move(nodes), num_positions, graph.world_size(), graph.rank(), options);
}

Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, NodeShare share,
                                              const NodeLoaderOptions& options) {
  if (share.largest < share.nodes.size()) {
    return InvalidArgument("NodeShare has " + std::to_string(share.nodes.size()) +
                           " nodes, expected at most NodeShare::largest, which is " + std::to_string(share.largest));
  }
  return MakeSource(graph, std::move(share.nodes), share.largest, 1, Rank(0), options);
}

}  // namespace espalier::client
