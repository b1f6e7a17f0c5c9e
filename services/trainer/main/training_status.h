// The progress of a trainer, for /status and /metrics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/telemetry/metrics.h"
#include "services/trainer/training_loop.h"

namespace espalier::trainer {

// Written by the training thread, read by the threads of the admin server. Thread-safe.
class TrainingStatus {
 public:
  // `job_uid` may be empty. `metrics` must outlive this.
  TrainingStatus(const job::DistTraining& job, const std::string& job_uid, uint32_t rank, uint32_t num_trainers,
                 uint64_t incarnation, telemetry::MetricRegistry& metrics);

  // Sets the progress of a resumed run, whose steps up to and including `position` were done earlier. Call at most
  // once, before the first step.
  void OnResumed(const RunPosition& position);
  void OnStep(const RunPosition& position);
  void OnEpoch(const EpochReport& report);
  // See TrainingObserver::OnPhase.
  void OnPhase(RunPhase phase, std::optional<double> fraction);
  void OnWarning(const std::string& warning);

  // Returns {"job", "rank", "trainers", "incarnation", "uid", "phase", "phasePercent", "epoch", "step", "epochs",
  // "stepsPerEpoch", "percent", "etaSeconds", "seedsPerSecond", "metrics": {"loss", ...}, "warnings": [texts]}.
  //   epoch, step     of the last completed step, from 0; absent before the first step, like epochs, stepsPerEpoch and
  //                   percent. If the job has 0 epochs, percent is always 100, and the other four are always 0
  //   percent         completed share of the steps of all epochs, in every phase
  //   etaSeconds      estimated time until the last epoch ends; absent if unknown
  //   phase           absent before the first phase
  //   phasePercent    progress of the phase; absent if unknown
  //   seedsPerSecond  over all trainers; only the time of the training phase counts; absent in other phases
  //   uid, warnings   absent if empty
  std::string Json() const;

 private:
  const std::string job_name_;
  const std::string job_uid_;
  const job::Metric metric_;
  const uint32_t rank_;
  const uint32_t num_trainers_;
  const uint64_t incarnation_;

  telemetry::MetricRegistry& registry_;  // outlives this
  telemetry::Counter steps_, seeds_;
  telemetry::Gauge epoch_, progress_;
  telemetry::Counter sample_seconds_, fetch_seconds_, wait_seconds_, compute_seconds_, communicate_seconds_,
      evaluate_seconds_;

  mutable Mutex mutex_;
  bool has_stepped_ ABSL_GUARDED_BY(mutex_) = false;
  Timer timer_ ABSL_GUARDED_BY(mutex_);                      // since the end of the first step of this incarnation
  double timer_start_fraction_ ABSL_GUARDED_BY(mutex_) = 0;  // completed share of all steps at that time
  // Since the last step, or since the training phase began again; unset in other phases and before the first step.
  std::optional<Timer> since_step_ ABSL_GUARDED_BY(mutex_);
  double timed_seconds_ ABSL_GUARDED_BY(mutex_) = 0;  // sum of the times that since_step_ measured between steps
  uint64_t timed_seeds_ ABSL_GUARDED_BY(mutex_) = 0;  // seeds of these steps
  std::optional<RunPhase> phase_ ABSL_GUARDED_BY(mutex_);
  std::optional<double> phase_fraction_ ABSL_GUARDED_BY(mutex_);
  bool has_no_more_steps_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<RunPosition> position_ ABSL_GUARDED_BY(mutex_);
  std::optional<EpochReport> last_epoch_ ABSL_GUARDED_BY(mutex_);
  std::optional<double> last_validation_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::trainer
