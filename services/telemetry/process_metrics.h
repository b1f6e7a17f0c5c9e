// The metrics espalier_process_* (kernel statistics of this process) and espalier_build_info (its version).
#pragma once

#include <memory>
#include <optional>

#include "services/base/mutex.h"
#include "services/telemetry/metrics.h"

namespace espalier::telemetry {

// Thread-safe. The registry outlives this object.
class ProcessMetrics {
 public:
  explicit ProcessMetrics(MetricRegistry& registry);
  // Reads the statistics of the kernel and sets the metrics.
  void Refresh();

 private:
  void SetMemoryLimit(std::optional<uint64_t> limit);
  void CountProcessorTime(double seconds_so_far);

  MetricRegistry& registry_;
  Mutex mutex_;
  std::shared_ptr<Gauge> memory_limit_bytes_ ABSL_GUARDED_BY(mutex_);  // null: no limit
  Gauge resident_bytes_;
  Gauge unreclaimable_bytes_;
  Gauge peak_resident_bytes_;
  double counted_cpu_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  Counter cpu_seconds_;
  Gauge open_files_;
};

// Returns the largest resident set size of this process so far, in bytes.
uint64_t PeakResidentBytes();

}  // namespace espalier::telemetry
