// How far a partitioner is, for /status and /metrics.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/work_meter.h"
#include "services/partitioner/counted_store.h"
#include "services/telemetry/metrics.h"

namespace espalier::partitioner {

// Written by the thread that partitions, read by the admin server's. Thread-safe.
class PartitioningStatus {
 public:
  // `job`: the document's name. `rank` of `num_partitioners` processes that make the partitioning. The registry
  // outlives this.
  PartitioningStatus(std::string job, uint32_t rank, uint32_t num_partitioners, telemetry::MetricRegistry& registry);

  // As PartitionProgress: a phase begins (0), gets on, and ends (1); it may begin anew after that.
  void OnPhase(std::string_view phase, double fraction) ABSL_LOCKS_EXCLUDED(mutex_);

  // As PartitionPipelineOptions::meter_of: for a phase that counts its bytes, which say then how far it is. Valid until
  // the phase's next one is asked for.
  WorkMeter* FindMeter(std::string_view phase) ABSL_LOCKS_EXCLUDED(mutex_);

  // For what is read from stores and written to them.
  const StoreBytes& bytes() const { return bytes_; }

  // {"job", "rank", "partitioners", "phase", "phaseSeconds", "phasePercent", "seconds": {"reading": 1.5, ...},
  // "readBytes", "writtenBytes"}; "phase" and what is about it only while there is one, "phasePercent" once a share of
  // it is known to be done, "seconds" of each so far.
  std::string Json() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Phase {
    Timer since;
    bool is_over = false;
    double seconds = 0;  // once it is over
    double fraction = 0;
    std::unique_ptr<WorkMeter> meter;  // null: none was asked for
    telemetry::Gauge seconds_gauge, fraction_gauge;

    double SecondsSoFar() const { return is_over ? seconds : since.Seconds(); }
    double FractionSoFar() const;
  };

  Phase NewPhase(const std::string& name);
  Phase& FindPhase(std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refresh() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string job_;
  const uint32_t rank_;
  const uint32_t num_partitioners_;
  telemetry::MetricRegistry& registry_;  // outlives this
  const StoreBytes bytes_;

  mutable Mutex mutex_;
  std::string current_ ABSL_GUARDED_BY(mutex_);  // empty: none
  std::map<std::string, Phase> phases_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<void> refresh_;  // last: waits for a call under way
};

}  // namespace espalier::partitioner
