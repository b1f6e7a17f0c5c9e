// How far a job is, in a line.
#pragma once

#include <optional>
#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::view {

// Epochs a minute, from what rank 0 has said since the first call: progress comes every 15 s and an epoch may take
// hours, so it is measured by percent. Owned by one thread.
class EpochRate {
 public:
  void See(const api::DistTraining& training);
  // nullopt until it is known; anew for each incarnation. Does not change outside of training.
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

// Whether a bar is drawn before it.
enum class WithBar { kNo, kYes };

// "[=====>    ] 42.0 %  epoch 25 of 60  4 min 10 s left  12.3 epochs/min  5s ago"; empty without progress. In other
// phases than training the phase stands in the place of the rate: "100.0 %  epoch 60 of 60  embedding 40.0 %  5s ago".
std::string ProgressText(const api::DistTraining& training, WithBar with_bar, std::optional<double> epochs_per_minute,
                         kube::WallTime now);

// "42.0 %"
std::string PercentText(double percent);

// "loss 0.5213  validationAccuracy 0.79"
std::string MetricsText(const api::Progress& progress);

// "server 2/2  trainer 1/2 (1 failed)"; empty before there are any.
std::string RolesText(const api::Status& status);

// Whether a trainer says that it is in another phase than training.
bool IsBetweenSteps(const api::Progress& progress);

// The condition that says most about now: why it has failed, what it waits for, that all is well; null: none.
const api::Condition* LeadingCondition(const api::Status& status);

}  // namespace espalier::ctl::view
