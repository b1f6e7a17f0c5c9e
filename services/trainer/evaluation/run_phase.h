// The phases of a trainer's run and the completed fraction of each, as reported by /status.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace espalier::trainer {

enum class RunPhase {
  kTraining,    // training steps
  kEvaluating,  // metrics of a split's parts, and computing the layers that they need
  kEmbedding,   // embeddings and predictions of nodes, after the metrics
  kWriting,     // the last checkpoint, model files, embeddings, predictions and the result
};
// Returns the name of a phase, for example "Training", as in /status and status.progress.phase.
const char* ToString(RunPhase phase);

// Counts the work of the current phase in units that are called rows: nodes for which a layer is computed, seed edges
// whose outputs are computed, candidates against which an edge is scored, rows and model files that are written. When
// all ranks share the work, a caller counts the rows of all ranks, on the assumption that the other ranks are as fast
// as this one. Copies share one count. Used by one thread.
class PhaseTracker {
 public:
  // `fraction` is the completed fraction of the phase in [0, 1], or nullopt if it is unknown. For kTraining it is
  // always nullopt, because the training loop counts the steps.
  using Report = std::function<void(RunPhase phase, std::optional<double> fraction)>;

  PhaseTracker() = default;  // reports nothing
  explicit PhaseTracker(Report report) : work_(std::make_shared<Work>(Work{std::move(report)})) {}

  // Begins `phase`, or restarts the current one. `expected_rows` is 0 if the amount of work is unknown.
  void Begin(RunPhase phase, uint64_t expected_rows) const;
  // Counts rows of the current phase as done.
  void Add(uint64_t rows) const;

 private:
  struct Work {
    Report report;
    RunPhase phase = RunPhase::kTraining;
    uint64_t expected_rows = 0, done_rows = 0;

    void ReportFraction() const;
  };

  std::shared_ptr<Work> work_;  // null: reports nothing
};

}  // namespace espalier::trainer
