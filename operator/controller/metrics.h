// The operator's metrics about jobs. (operator/client and operator/runtime have the metrics of requests, of the queue
// and of reconciles.)
#pragma once

#include <map>
#include <memory>
#include <string>

#include "operator/controller/caches.h"
#include "services/base/mutex.h"
#include "services/telemetry/metrics.h"

namespace espalier::ctl::controller {

// Thread-safe. The registry must outlive it.
class ControllerMetrics {
 public:
  explicit ControllerMetrics(telemetry::MetricRegistry& registry);

  // Updates the series of the job and the number of jobs by phase after a change in the cache. `before` is null for a
  // new job, `after` for a deleted one. Jobs of other controllers are ignored.
  void OnTraining(const TrainingRecord* before, const TrainingRecord* after);
  // Increments the counters of status writes, restarts, failures and finished jobs. `before` is the job's stored status
  // before the write of `after`.
  void OnStatus(const api::Status& before, const api::Status& after);

  telemetry::Counter status_writes;
  telemetry::Counter progress_polls;
  telemetry::Counter progress_failures;

 private:
  // The series of one job; they are removed when the job is deleted. Their labels are job_namespace and job_name,
  // because Prometheus sets the labels namespace and job to those of the scrape target, the operator.
  struct JobSeries {
    std::shared_ptr<telemetry::Gauge> info;         // 1, with the phase as a label
    std::shared_ptr<telemetry::Gauge> incarnation;  // of its trainer group
  };

  telemetry::MetricRegistry& registry_;
  std::map<std::string, telemetry::Gauge> jobs_;  // by phase; no phase is added after construction
  Mutex mutex_;
  std::map<kube::ObjectKey, JobSeries> by_job_ ABSL_GUARDED_BY(mutex_);
  telemetry::Counter restarts_;
  telemetry::Counter counted_failures_;
  telemetry::Counter succeeded_;
  telemetry::Counter failed_;
};

}  // namespace espalier::ctl::controller
