// Opens a graph as each rank of a program, for tests of splits and loaders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/client/loaders/edge_data_loader.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client::testing {

// `samplers`: addresses of sampler processes over the same partitions.
inline std::unique_ptr<DistGraph> GraphOfRank(std::shared_ptr<sampler::PartitionedGraph> partitions, uint32_t rank,
                                              uint32_t world_size, const std::vector<std::string>& samplers = {}) {
  Context context;
  context.session.partition_key = kPartitionKey;
  context.samplers = samplers;
  context.rank = Rank(rank);
  context.world_size = world_size;
  return std::make_unique<DistGraph>("test", std::move(partitions), context);
}

// Returns the batches of an epoch of an EdgeDataLoader over `edges`. Aborts the process after an error.
template <class Edges>
std::vector<sampler::MiniBatch> BatchesOfEpoch(const DistGraph& graph, const Edges& edges,
                                               const EdgeLoaderOptions& options, uint32_t epoch,
                                               uint32_t first_step = 0) {
  auto loader = DistEdgeDataLoader::Make(
      graph, edges, options,
      [](sampler::MiniBatch batch, const Deadline&) -> Result<sampler::MiniBatch> { return batch; });
  ESPALIER_CHECK(loader.ok()) << loader.status().ToString();
  const Status started = (*loader)->StartEpoch(epoch, first_step);
  ESPALIER_CHECK(started.ok()) << started.ToString();
  std::vector<sampler::MiniBatch> batches;
  for (;;) {
    Result<std::optional<sampler::MiniBatch>> batch = (*loader)->Next();
    ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
    if (!batch->has_value()) return batches;
    batches.push_back(**std::move(batch));
  }
}

}  // namespace espalier::client::testing
