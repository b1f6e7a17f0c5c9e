// The progress of a partitioner, for /status and /metrics.
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

// Updated by the partitioning thread and read by the threads of the admin server. Thread-safe.
class PartitioningStatus {
 public:
  // `job` is the name of the job document. This process is number `rank` of `num_partitioners` partitioner processes.
  // The registry must outlive this object.
  PartitioningStatus(std::string job, uint32_t rank, uint32_t num_partitioners, telemetry::MetricRegistry& registry);

  // Records progress, with the arguments of PartitionProgress: a phase begins (`fraction` 0), progresses, and ends (1).
  // A phase may begin again after its end.
  void OnPhase(std::string_view phase, double fraction) ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds a meter for the bytes of a phase and returns it, as PartitionPipelineOptions::get_meter requires. If the meter
  // has an expected total, it determines the reported fraction of the phase. Valid until the next call for the same
  // phase.
  WorkMeter* AddMeter(std::string_view phase) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the counters of bytes read from stores and written to them.
  const ByteCounters& bytes() const { return bytes_; }

  // Returns {"job", "rank", "partitioners", "phase", "phaseSeconds", "phasePercent", "seconds": {"reading": 1.5, ...},
  // "readBytes", "writtenBytes"}. Between phases, "phase", "phaseSeconds" and "phasePercent" are omitted;
  // "phasePercent" is also omitted while the fraction is 0. "seconds" has the seconds of every phase so far.
  std::string Json() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Phase {
    Timer since;
    bool is_over = false;
    double seconds = 0;  // set when the phase is over
    double fraction = 0;
    std::unique_ptr<WorkMeter> meter;  // null: bytes are not counted
    telemetry::Gauge seconds_gauge, fraction_gauge;

    double SecondsSoFar() const { return is_over ? seconds : since.Seconds(); }
    double FractionSoFar() const;
  };

  // Returns a new phase with registered gauges.
  Phase MakePhase(const std::string& name);
  // Returns the phase; adds it if it does not exist.
  Phase& FindOrAddPhase(std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Updates the gauges before metrics are serialized.
  void Refresh() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string job_;
  const uint32_t rank_;
  const uint32_t num_partitioners_;
  telemetry::MetricRegistry& registry_;  // outlives this
  const ByteCounters bytes_;

  mutable Mutex mutex_;
  std::string current_ ABSL_GUARDED_BY(mutex_);  // the current phase; empty: none
  std::map<std::string, Phase> phases_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<void> refresh_;  // last member: its destructor waits for a running Refresh
};

}  // namespace espalier::partitioner
