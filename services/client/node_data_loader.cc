#include "services/client/node_data_loader.h"

namespace espalier::client {

Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                              const NodeLoaderOptions& options) {
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
  plan.num_trainers = graph.world_size();
  plan.rank = graph.rank();
  sampler::LocalSamplingOptions sampling;
  sampling.threads = options.threads;
  sampling.depth = options.batches_ahead;
  sampling.want_edge_ids = options.want_edge_ids;
  NodeLoaderSource source;
  source.seeds =
      std::make_unique<NodeListSeeds>(options.seed_type, std::move(nodes), options.batch_size, options.last_batch);
  source.batches = std::make_unique<sampler::LocalMiniBatchSource>(graph.partitions(), *source.seeds, options.sampling,
                                                                   plan, sampling);
  return source;
}

}  // namespace espalier::client
