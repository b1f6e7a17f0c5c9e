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

void PhaseTracker::Begin(RunPhase phase, uint64_t expected_rows) const {
  if (work_ == nullptr) return;
  work_->phase = phase;
  work_->expected_rows = expected_rows;
  work_->done_rows = 0;
  work_->ReportFraction();
}

void PhaseTracker::Add(uint64_t rows) const {
  if (work_ == nullptr) return;
  work_->done_rows += rows;
  work_->ReportFraction();
}

void PhaseTracker::Work::ReportFraction() const {
  if (!report) return;
  if (expected_rows == 0) return report(phase, std::nullopt);
  // done_rows is an estimate. It may exceed expected_rows, because the last chunks of the ranks differ in size.
  report(phase, std::min(1.0, static_cast<double>(done_rows) / static_cast<double>(expected_rows)));
}

}  // namespace espalier::trainer
