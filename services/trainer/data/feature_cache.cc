#include "services/trainer/data/feature_cache.h"

namespace espalier::trainer {

Result<FeatureCaches> MakeFeatureCaches(const std::optional<job::FeatureCache>& wanted, const GraphAccess& graph,
                                        const NodeData& data, const SharedRows& shared,
                                        std::optional<torch::Device> device, telemetry::MetricRegistry* metrics,
                                        FeatureCacheOptions* prefetch) {
  const graph::PartitionBook& book = graph.neighbors.book();
  FeatureCaches caches;
  if (!wanted.has_value()) return caches;
  if (sampler::HasRemoteRows(graph.rows, book)) {
    const std::vector<sampler::ColumnDescription> columns = data.BatchColumns();
    std::unique_ptr<sampler::SharedRowCache> shared_cache;
    if (shared.memory != nullptr) {
      ASSIGN_OR_RETURN(shared_cache, sampler::SharedRowCache::Make(shared.memory, shared.partition_key, book, columns));
    }
    caches.rows = std::make_unique<sampler::ScheduledRowCache>(graph.rows, book, columns, wanted->memory_bytes,
                                                               std::move(shared_cache));
    prefetch->rows = caches.rows.get();
    if (metrics != nullptr) prefetch->metrics = FeatureCacheMetrics(*metrics);
  }
  if (wanted->device_memory_bytes > 0 && device.has_value()) {
    ASSIGN_OR_RETURN(caches.device, DeviceRows::Make(wanted->device_memory_bytes, book, data, *device));
    prefetch->device = caches.device.get();
    if (metrics != nullptr) prefetch->device_metrics = DeviceRowsMetrics(*metrics);
  }
  if (!prefetch->is_used()) return caches;
  prefetch->steps = wanted->steps;
  prefetch->max_waiting_bytes = wanted->memory_bytes;
  return caches;
}

}  // namespace espalier::trainer
