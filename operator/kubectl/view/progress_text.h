// Formats a job's progress in one line.
#pragma once

#include <optional>
#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::view {

// Measures epochs per minute from the progress of rank 0 since the first call. Uses the percentage, not the epoch
// number, because an epoch may take hours. Owned by one thread.
class EpochRate {
 public:
  void Observe(const api::DistTraining& training);
  // Returns nullopt until the rate is known, and always for a user's program. The measurement begins again with each
  // new incarnation, and if the percentage becomes smaller. In phases other than training the rate does not change.
  std::optional<double> epochs_per_minute() const { return rate_; }

 private:
  struct Sample {
    int64_t incarnation = 0;
    double percent = 0;
    kube::WallTime at{};
  };
  std::optional<Sample> first_;
  std::optional<double> rate_;
};

// Whether a progress bar precedes the text.
enum class WithBar { kNo, kYes };

// Returns "[=====>    ] 42.0 %  epoch 25 of 60  4 min 10 s left  12.3 epochs/min  (5s ago)"; empty without progress. In
// phases other than training the phase replaces the rate: "100.0 %  epoch 60 of 60  embedding 40.0 %  (5s ago)". For a
// job that has ended, the text ends after the epoch.
std::string ProgressText(const api::DistTraining& training, WithBar with_bar, std::optional<double> epochs_per_minute,
                         kube::WallTime now);

// Returns a percentage such as "42.0 %".
std::string PercentText(double percent);

// Returns the metrics, such as "loss 0.5213  validationAccuracy 0.79".
std::string MetricsText(const api::Progress& progress);

// Returns ready and wanted pods by role: "server 2/2  trainer 1/2 (1 failed)"; empty if the status has none yet.
std::string RolesText(const api::Status& status);

// Returns whether the trainer reports a phase other than training.
bool IsInOtherPhase(const api::Progress& progress);

// Returns the condition that best describes the current state: why the job failed, what it waits for, or that it
// trains; null: there is none.
const api::Condition* LeadingCondition(const api::Status& status);

}  // namespace espalier::ctl::view
