// What the operator counts about jobs. (Requests, queue and reconciles are counted by client and runtime.)
#pragma once

#include <map>
#include <string>

#include "operator/controller/caches.h"
#include "services/base/mutex.h"
#include "services/telemetry/metrics.h"

namespace espalier::ctl::controller {

// Thread-safe. The registry outlives it.
class ControllerMetrics {
 public:
  explicit ControllerMetrics(telemetry::MetricRegistry& registry);

  // Keeps espalier_operator_jobs_count{phase} in step with the cache; either may be null.
  void OnTraining(const TrainingRecord* before, const TrainingRecord* after);
  // What a status that has just been written says that the one before did not.
  void OnStatus(const api::Status& before, const api::Status& after);

  telemetry::Counter status_writes;
  telemetry::Counter progress_polls;
  telemetry::Counter progress_failures;

 private:
  std::map<std::string, telemetry::Gauge> jobs_;  // by phase; fixed after construction
  telemetry::Counter restarts_;
  telemetry::Counter counted_failures_;
  telemetry::Counter succeeded_;
  telemetry::Counter failed_;
};

}  // namespace espalier::ctl::controller
