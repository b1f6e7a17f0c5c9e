// What the operator counts about jobs. (Requests, queue and reconciles are counted by client and runtime.)
#pragma once

#include <map>
#include <memory>
#include <string>

#include "operator/controller/caches.h"
#include "services/base/mutex.h"
#include "services/telemetry/metrics.h"

namespace espalier::ctl::controller {

// Thread-safe. The registry outlives it.
class ControllerMetrics {
 public:
  explicit ControllerMetrics(telemetry::MetricRegistry& registry);

  // Keeps what is said of each job, and of all jobs by phase, in step with the cache; either may be null. Nothing is
  // said of another controller's.
  void OnTraining(const TrainingRecord* before, const TrainingRecord* after);
  // What a status that has just been written says that the one before did not.
  void OnStatus(const api::Status& before, const api::Status& after);

  telemetry::Counter status_writes;
  telemetry::Counter progress_polls;
  telemetry::Counter progress_failures;

 private:
  // A job's own series, which go with it. They say job_namespace and job_name: namespace and job are what Prometheus
  // calls where it found the operator.
  struct OfJob {
    std::shared_ptr<telemetry::Gauge> info;         // 1, with the phase as a label
    std::shared_ptr<telemetry::Gauge> incarnation;  // of its trainer group
  };

  telemetry::MetricRegistry& registry_;
  std::map<std::string, telemetry::Gauge> jobs_;  // by phase; fixed after construction
  Mutex mutex_;
  std::map<kube::ObjectKey, OfJob> by_job_ ABSL_GUARDED_BY(mutex_);
  telemetry::Counter restarts_;
  telemetry::Counter counted_failures_;
  telemetry::Counter succeeded_;
  telemetry::Counter failed_;
};

}  // namespace espalier::ctl::controller
