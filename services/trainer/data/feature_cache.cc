#include "services/trainer/data/feature_cache.h"

namespace espalier::trainer {

std::unique_ptr<sampler::ScheduledRowCache> MakeFeatureCache(const std::optional<job::FeatureCache>& wanted,
                                                             const GraphAccess& graph, const NodeData& data,
                                                             telemetry::MetricRegistry* metrics,
                                                             FeatureCacheOptions* prefetch) {
  const graph::PartitionBook& book = graph.neighbors.book();
  if (!wanted.has_value() || !sampler::HasRemoteRows(graph.rows, book)) return nullptr;
  auto cache =
      std::make_unique<sampler::ScheduledRowCache>(graph.rows, book, data.BatchColumns(), wanted->memory_bytes);
  prefetch->rows = cache.get();
  prefetch->steps = wanted->steps;
  prefetch->max_waiting_bytes = wanted->memory_bytes;
  if (metrics != nullptr) prefetch->metrics = FeatureCacheMetrics(*metrics);
  return cache;
}

}  // namespace espalier::trainer
