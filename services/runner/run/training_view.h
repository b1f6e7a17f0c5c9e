// What a run shows while it trains: rank 0's /status as text.
#pragma once

#include <optional>
#include <string>

namespace espalier::run {

struct TrainingStatus {
  std::string phase = "training";           // or "evaluating", "embedding", "writing"
  double fraction = -1;                     // of the phase; negative: not known
  std::optional<double> remaining_seconds;  // until the last step, as the trainer estimates it; only while training
  int64_t epoch = -1;                       // the latest that began
  std::string text;                         // "epoch 12 of 50  loss 0.51  Accuracy 0.78  45.1 k seeds/s"
};

// nullopt for what is no status of a trainer. Unknown fields are left alone.
std::optional<TrainingStatus> ParseTrainingStatus(const std::string& json);

}  // namespace espalier::run
