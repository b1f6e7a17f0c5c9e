// Creates a trainer's caches of feature rows as the job's document specifies (spec.trainers.featureCache).
#pragma once

#include <memory>
#include <optional>

#include "services/job/dist_training.h"
#include "services/trainer/data/batch_prefetcher.h"
#include "services/trainer/data/graph_access.h"

namespace espalier::trainer {

// The memory in which the trainers of a machine share rows.
struct SharedRows {
  std::shared_ptr<SharedMemory> memory;  // null: none
  std::string partition_key;             // of the open graph
};

// The levels of a cache of feature rows.
struct FeatureCaches {
  std::unique_ptr<sampler::ScheduledRowCache> rows;  // in host memory; null: no cache, or no row is remote
  std::unique_ptr<DeviceRows> device;                // null: the device keeps no rows
};

// Returns the job's caches and sets `prefetch` to use them; if there are none, `prefetch` is unchanged. `device` is the
// device that keeps rows if the job sets deviceMemory; nullopt: no device keeps rows. `graph` outlives the caches;
// `metrics` may be null. Errors are those of SharedRowCache::Make and DeviceRows::Make.
Result<FeatureCaches> MakeFeatureCaches(const std::optional<job::FeatureCache>& wanted, const GraphAccess& graph,
                                        const NodeData& data, const SharedRows& shared,
                                        std::optional<torch::Device> device, telemetry::MetricRegistry* metrics,
                                        FeatureCacheOptions* prefetch);

}  // namespace espalier::trainer
