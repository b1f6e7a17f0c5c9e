// Metrics about a trainer's cache of feature rows.
#pragma once

#include "services/sampler/row_cache/scheduled_row_cache.h"
#include "services/sampler/row_cache/scheduled_slots.h"
#include "services/telemetry/metrics.h"

namespace espalier::trainer {

// A default-constructed object counts nothing.
struct FeatureCacheMetrics {
  FeatureCacheMetrics() = default;
  explicit FeatureCacheMetrics(telemetry::MetricRegistry& registry)
      : hit_rows(registry.AddCounter("espalier_trainer_feature_cache_hit_rows_total",
                                     "Remote feature rows that steps found in the cache.")),
        shared_rows(
            registry.AddCounter("espalier_trainer_feature_cache_shared_rows_total",
                                "Remote feature rows that steps found in the machine's shared memory, but not in the "
                                "cache.")),
        fetched_rows(registry.AddCounter("espalier_trainer_feature_cache_fetched_rows_total",
                                         "Remote feature rows that steps requested from graph servers.")),
        saved_bytes(registry.AddCounter("espalier_trainer_feature_cache_saved_bytes_total",
                                        "Bytes of the rows found in the cache, which graph servers therefore did not "
                                        "send.")),
        shared_bytes(registry.AddCounter("espalier_trainer_feature_cache_shared_bytes_total",
                                         "Bytes of the rows found in the machine's shared memory, which graph servers "
                                         "therefore did not send.")),
        held_bytes(registry.AddGauge("espalier_trainer_feature_cache_held_bytes",
                                     "Memory of the cached rows, of their index and of the steps sampled ahead.")),
        shared_memory_bytes(registry.AddGauge("espalier_trainer_feature_cache_shared_memory_bytes",
                                              "Memory that the machine's trainers together take for shared rows.")) {}

  // Adds the counts since the last call and sets the gauges.
  void Update(const sampler::ScheduledRowCache& cache) {
    const sampler::RowCacheCounts& now = cache.counts();
    hit_rows.Add(static_cast<double>(now.hit_rows - reported.hit_rows));
    shared_rows.Add(static_cast<double>(now.shared_rows - reported.shared_rows));
    fetched_rows.Add(static_cast<double>(now.fetched_rows - reported.fetched_rows));
    saved_bytes.Add(static_cast<double>(now.hit_bytes - reported.hit_bytes));
    shared_bytes.Add(static_cast<double>(now.shared_bytes - reported.shared_bytes));
    held_bytes.Set(static_cast<double>(cache.held_bytes()));
    shared_memory_bytes.Set(static_cast<double>(cache.shared_memory_bytes()));
    reported = now;
  }

  telemetry::Counter hit_rows, shared_rows, fetched_rows, saved_bytes, shared_bytes;
  telemetry::Gauge held_bytes, shared_memory_bytes;
  sampler::RowCacheCounts reported;  // counts at the last call of Update
};

// Metrics about feature rows on a trainer's device. A default-constructed object counts nothing.
struct DeviceRowsMetrics {
  DeviceRowsMetrics() = default;
  explicit DeviceRowsMetrics(telemetry::MetricRegistry& registry)
      : device_rows(registry.AddCounter("espalier_trainer_feature_cache_device_rows_total",
                                        "Feature rows that steps found in the GPU's memory.")),
        copied_rows(registry.AddCounter("espalier_trainer_feature_cache_copied_rows_total",
                                        "Feature rows that steps did not find in the GPU's memory and copied there.")),
        device_bytes(registry.AddCounter("espalier_trainer_feature_cache_device_bytes_total",
                                         "Bytes of the rows found in the GPU's memory, which were therefore not copied "
                                         "there.")),
        device_memory_bytes(registry.AddGauge("espalier_trainer_feature_cache_device_memory_bytes",
                                              "Memory of the GPU that is allocated for feature rows.")) {}

  // Adds the counts since the last call and sets the gauge.
  void Update(const sampler::SlotCounts& now, uint64_t memory_bytes) {
    device_rows.Add(static_cast<double>(now.hit_rows - reported.hit_rows));
    copied_rows.Add(static_cast<double>(now.missed_rows - reported.missed_rows));
    device_bytes.Add(static_cast<double>(now.hit_bytes - reported.hit_bytes));
    device_memory_bytes.Set(static_cast<double>(memory_bytes));
    reported = now;
  }

  telemetry::Counter device_rows, copied_rows, device_bytes;
  telemetry::Gauge device_memory_bytes;
  sampler::SlotCounts reported;  // counts at the last call of Update
};

}  // namespace espalier::trainer
