#include "services/trainer/data/feature_cache.h"

namespace espalier::trainer {

Result<std::unique_ptr<sampler::ScheduledRowCache>> MakeFeatureCache(const std::optional<job::FeatureCache>& wanted,
                                                                     const GraphAccess& graph, const NodeData& data,
                                                                     const SharedRows& shared,
                                                                     telemetry::MetricRegistry* metrics,
                                                                     FeatureCacheOptions* prefetch) {
  const graph::PartitionBook& book = graph.neighbors.book();
  std::unique_ptr<sampler::ScheduledRowCache> cache;
  if (!wanted.has_value() || !sampler::HasRemoteRows(graph.rows, book)) return cache;
  const std::vector<sampler::ColumnDescription> columns = data.BatchColumns();
  std::unique_ptr<sampler::SharedRowCache> of_machine;
  if (shared.memory != nullptr) {
    ASSIGN_OR_RETURN(of_machine, sampler::SharedRowCache::Make(shared.memory, shared.partition_key, book, columns));
  }
  cache = std::make_unique<sampler::ScheduledRowCache>(graph.rows, book, columns, wanted->memory_bytes,
                                                       std::move(of_machine));
  prefetch->rows = cache.get();
  prefetch->steps = wanted->steps;
  prefetch->max_waiting_bytes = wanted->memory_bytes;
  if (metrics != nullptr) prefetch->metrics = FeatureCacheMetrics(*metrics);
  return cache;
}

}  // namespace espalier::trainer
