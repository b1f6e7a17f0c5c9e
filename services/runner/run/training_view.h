// Converts rank 0's /status to the text that a run shows while it trains.
#pragma once

#include <optional>
#include <string>

namespace espalier::run {

struct TrainingStatus {
  std::string phase = "training";           // or "evaluating", "embedding", "writing"
  double fraction = -1;                     // completed fraction of the phase; negative: unknown
  std::optional<double> remaining_seconds;  // estimated time until the last step; only while training
  int64_t epoch = -1;                       // the latest epoch that has begun
  std::string text;                         // "epoch 12 of 50  loss 0.51  validationAccuracy 0.78  45.1 k seeds/s"
};

// Returns nullopt if `json` is not the status of a trainer. Ignores unknown fields. Accepts untrusted input.
std::optional<TrainingStatus> ParseTrainingStatus(const std::string& json);

}  // namespace espalier::run
