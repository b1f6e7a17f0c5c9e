// Synchronous data parallelism. Every rank takes its share of each step's global batch, empty ones too; gradients,
// the loss and two flags are summed over ranks in one buffer; every rank then makes the same update.
//
//   flags:  stop    somebody was asked to stop: all stop after this step
//           failed  somebody has no batch: it took part with an empty one so that the ranks' collective operations
//                   still match, and all end with its error
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/trainer/batch_prefetcher.h"
#include "services/trainer/evaluation.h"
#include "services/trainer/graph_access.h"
#include "services/trainer/optimizers.h"
#include "services/trainer/schedules.h"

namespace espalier::trainer {

// Where an epoch's time went, on this rank. Sampling and fetching go on beside the computation; `wait` is how long
// the computation stood still for them.
struct SecondsSplit {
  double sample = 0, fetch = 0, wait = 0, compute = 0, communicate = 0, evaluate = 0;
};

struct EpochReport {
  uint32_t epoch = 0;
  double loss = 0;  // mean over the epoch's seeds
  double learning_rate = 0;
  std::optional<double> validation;  // the job's metric, where the epoch ended with an evaluation
  double total_seconds = 0;          // evaluation included
  SecondsSplit seconds;
  uint64_t num_seeds = 0;  // of all ranks
};

// What a run knows about itself while it goes on: for /status.
struct RunPosition {
  uint32_t epoch = 0, step = 0;
  uint32_t num_epochs = 0, steps_per_epoch = 0;
};

struct LoopOptions {
  job::Training training;
  uint32_t steps_per_epoch = 0;
  std::vector<std::vector<EdgeTypeId>> relations;  // by layer
  Timeouts timeouts;
  const std::atomic<bool>* stop_requested = nullptr;  // outlives the loop; null: never
  std::function<void(const EpochReport&)> on_epoch;   // may be empty
  std::function<void(const RunPosition&)> on_step;    // may be empty; after each step
};

enum class LoopEnd { kAllEpochs, kEarlyStopping, kStopRequested };

struct LoopResult {
  LoopEnd end = LoopEnd::kAllEpochs;
  std::vector<EpochReport> epochs;
  std::vector<double> first_epoch_losses;  // by step
  uint32_t best_epoch = 0;                 // of the best validation metric; without one, the last
  std::optional<double> best_validation;
  NamedTensors best_state;  // copies of the model's parameters and buffers then
};

// Trains `model` in place. Everything outlives the call. An error is the same on all ranks, unless it is of the
// group of ranks itself.
Result<LoopResult> RunTrainingLoop(Model& model, const NodeData& data, BatchPrefetcher& batches, Evaluator& evaluator,
                                   collective::Collective& collective, const LoopOptions& options);

}  // namespace espalier::trainer
