#include "services/client/node_data_loader.h"

namespace espalier::client {

namespace {

// Seeds by `num_trainers` ranks, of which this is `rank`; an epoch is `positions` long.
Result<NodeLoaderSource> MakeSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes, uint64_t positions,
                                    uint32_t num_trainers, Rank rank, const NodeLoaderOptions& options) {
  if (options.batch_size == 0) return InvalidArgument("a data loader needs a batch size of at least 1");
  if (options.seed_type.value >= graph.schema().num_node_types()) {
    return InvalidArgument("node type " + std::to_string(options.seed_type.value) + " does not exist");
  }
  for (const GlobalNodeId node : nodes) {
    if (node.value >= graph.num_nodes(options.seed_type)) {
      return InvalidArgument("node " + std::to_string(node.value) + " of type '" +
                             graph.schema().NodeTypeName(options.seed_type) + "', which has " +
                             std::to_string(graph.num_nodes(options.seed_type)));
    }
  }
  sampler::EpochPlan plan;
  plan.seed_type = options.seed_type;
  plan.split = "nodes";
  plan.batch_size = options.batch_size;
  plan.shuffle = options.shuffle;
  plan.num_trainers = num_trainers;
  plan.rank = rank;
  sampler::LocalSamplingOptions sampling;
  sampling.threads = options.threads;
  sampling.depth = options.batches_ahead;
  sampling.want_edge_ids = options.want_edge_ids;
  NodeLoaderSource source;
  source.seeds = std::make_unique<NodeListSeeds>(options.seed_type, std::move(nodes), positions, options.batch_size,
                                                 options.last_batch);
  source.batches = std::make_unique<sampler::LocalMiniBatchSource>(graph.partitions(), *source.seeds, options.sampling,
                                                                   plan, sampling);
  return source;
}

}  // namespace

Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                              const NodeLoaderOptions& options) {
  const uint64_t positions = nodes.size();
  return MakeSource(graph, std::move(nodes), positions, graph.world_size(), graph.rank(), options);
}

Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, NodeShare share,
                                              const NodeLoaderOptions& options) {
  if (share.largest < share.nodes.size()) {
    return InvalidArgument("a share of " + std::to_string(share.nodes.size()) + " nodes where the largest has " +
                           std::to_string(share.largest));
  }
  return MakeSource(graph, std::move(share.nodes), share.largest, 1, Rank(0), options);
}

}  // namespace espalier::client
