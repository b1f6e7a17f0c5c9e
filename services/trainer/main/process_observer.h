// The training observer of espalier-trainer: forwards events to the TrainingStatus, the StopWatcher and the log.
#pragma once

#include <optional>
#include <string>

#include "services/telemetry/log.h"
#include "services/trainer/main/stop_watcher.h"
#include "services/trainer/main/trainer_log.h"
#include "services/trainer/main/training_status.h"
#include "services/trainer/training_observer.h"

namespace espalier::trainer {

class ProcessObserver final : public TrainingObserver {
 public:
  // `status` and `stop` must outlive this. `logs`: whether to log epochs and warnings; only rank 0 does.
  ProcessObserver(TrainingStatus& status, StopWatcher& stop, job::Metric metric, bool logs)
      : status_(status), stop_(stop), metric_(metric), logs_(logs) {}

  void OnResumed(const RunPosition& position) override { status_.OnResumed(position); }
  void OnStep(const RunPosition& position) override {
    stop_.OnStep();
    status_.OnStep(position);
  }
  void OnEpoch(const EpochReport& report) override {
    status_.OnEpoch(report);
    if (logs_) LogEpoch(report, metric_);
  }
  void OnPhase(RunPhase phase, std::optional<double> fraction) override { status_.OnPhase(phase, fraction); }
  void OnComputeBegin() override { stop_.OnComputeBegin(); }
  void OnComputeEnd() override { stop_.OnComputeEnd(); }
  void OnProgress() override { stop_.OnProgress(); }
  void OnStopped() override { stop_.OnLastStep(); }
  void OnSaved() override { stop_.OnSaved(); }
  void OnWarning(const std::string& warning) override {
    status_.OnWarning(warning);
    if (logs_) telemetry::Log(telemetry::Level::kWarning, "warning", {{"warning", warning}});
  }

 private:
  TrainingStatus& status_;
  StopWatcher& stop_;
  const job::Metric metric_;
  const bool logs_;
};

}  // namespace espalier::trainer
