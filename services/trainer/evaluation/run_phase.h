// Phases of a trainer's run, and the share of each that is done: for /status.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace espalier::trainer {

enum class RunPhase {
  kTraining,    // steps
  kEvaluating,  // metrics of a split's parts, with the layers that they are computed from
  kEmbedding,   // embeddings and predictions of nodes, after the metrics
  kWriting,     // model files, embeddings, predictions, the result
};
// "Training": as in /status and in status.progress.phase.
const char* ToString(RunPhase phase);

// Counts the work of the phase that a run is in. A row is a node whose layer is computed, a candidate that an edge is
// scored against, or a row that is written. Work of all ranks is counted, at the pace of this one. Owned by one thread.
class PhaseTracker {
 public:
  // `fraction`: of the phase, in [0, 1]; nullopt: not known. For kTraining it is always nullopt: steps are counted by
  // the training loop.
  using Report = std::function<void(RunPhase phase, std::optional<double> fraction)>;

  PhaseTracker() = default;  // reports nothing
  explicit PhaseTracker(Report report) : report_(std::move(report)) {}

  // Begins `phase`, or the current one anew. `expected_rows` is 0 where the amount of work is not known.
  void Begin(RunPhase phase, uint64_t expected_rows);
  void Add(uint64_t rows);

 private:
  void Tell() const;

  Report report_;
  RunPhase phase_ = RunPhase::kTraining;
  uint64_t expected_rows_ = 0, done_rows_ = 0;
};

// For callers whose tracker may be null.
inline void BeginPhase(PhaseTracker* phases, RunPhase phase, uint64_t expected_rows) {
  if (phases != nullptr) phases->Begin(phase, expected_rows);
}
inline void AddRows(PhaseTracker* phases, uint64_t rows) {
  if (phases != nullptr) phases->Add(rows);
}

}  // namespace espalier::trainer
