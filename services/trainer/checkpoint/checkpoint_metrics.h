// Metrics about the cost of checkpoints.
#pragma once

#include "services/telemetry/metrics.h"

namespace espalier::trainer {

// A default-constructed object counts nothing.
struct CheckpointMetrics {
  CheckpointMetrics() = default;
  explicit CheckpointMetrics(telemetry::MetricRegistry& registry)
      : written(registry.AddCounter("espalier_trainer_checkpoints_written_total", "Checkpoints committed.")),
        failed(
            registry.AddCounter("espalier_trainer_checkpoints_failed_total", "Checkpoints that could not be written.")),
        delayed(registry.AddCounter("espalier_trainer_checkpoints_delayed_total",
                                    "Checkpoints delayed while the previous one was being written, or older ones were "
                                    "being verified.")),
        bytes(
            registry.AddCounter("espalier_trainer_checkpoint_written_bytes_total", "Bytes of committed checkpoints.")),
        snapshot_seconds(registry.AddCounter("espalier_trainer_checkpoint_snapshot_seconds_total",
                                             "Time in which training paused for checkpoints.")),
        upload_seconds(registry.AddCounter(
            "espalier_trainer_checkpoint_upload_seconds_total",
            "Time from a checkpoint's first file to its commit, mostly in parallel with training.")),
        last_step(registry.AddGauge("espalier_trainer_checkpoint_last_step",
                                    "Steps done at the newest committed checkpoint.")),
        last_timestamp(registry.AddGauge("espalier_trainer_checkpoint_last_timestamp_seconds",
                                         "Commit time of the newest checkpoint; before the first one, the start time "
                                         "of training; 0: checkpoints are written only on a stop request.")) {}

  telemetry::Counter written, failed, delayed, bytes, snapshot_seconds, upload_seconds;
  telemetry::Gauge last_step, last_timestamp;
};

}  // namespace espalier::trainer
