// Makes a trainer's cache of feature rows from the job's document (spec.trainers.featureCache).
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

// Returns the cache and sets `prefetch` to use it. Null, with `prefetch` unchanged, if the job has no cache or no row
// comes from another machine. `graph` outlives the cache; `metrics` may be null. Errors are those of
// SharedRowCache::Make.
Result<std::unique_ptr<sampler::ScheduledRowCache>> MakeFeatureCache(const std::optional<job::FeatureCache>& wanted,
                                                                     const GraphAccess& graph, const NodeData& data,
                                                                     const SharedRows& shared,
                                                                     telemetry::MetricRegistry* metrics,
                                                                     FeatureCacheOptions* prefetch);

}  // namespace espalier::trainer
