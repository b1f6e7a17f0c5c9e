#include "services/trainer/evaluation/run_phase.h"

#include <algorithm>

namespace espalier::trainer {

const char* ToString(RunPhase phase) {
  switch (phase) {
    case RunPhase::kTraining: return "Training";
    case RunPhase::kEvaluating: return "Evaluating";
    case RunPhase::kEmbedding: return "Embedding";
    case RunPhase::kWriting: return "Writing";
  }
  return "";
}

void PhaseTracker::Begin(RunPhase phase, uint64_t expected_rows) {
  phase_ = phase;
  expected_rows_ = expected_rows;
  done_rows_ = 0;
  Tell();
}

void PhaseTracker::Add(uint64_t rows) {
  done_rows_ += rows;
  Tell();
}

void PhaseTracker::Tell() const {
  if (!report_) return;
  if (expected_rows_ == 0) return report_(phase_, std::nullopt);
  // The last chunks of the ranks differ in size, so the estimate may exceed the total.
  report_(phase_, std::min(1.0, static_cast<double>(done_rows_) / static_cast<double>(expected_rows_)));
}

}  // namespace espalier::trainer
