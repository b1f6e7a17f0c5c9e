// Synchronous data-parallel training. In each step every rank processes its share of the global batch, which may be
// empty. One all-reduce sums the gradients, the loss and three flags over ranks; then every rank applies the same
// update.
//
//   flags:  stop    a rank has received a stop request: all ranks stop after this step. If the request has cancelled a
//                   mini-batch, all ranks roll the step back and stop before it; with learnable rows, or if the
//                   model's buffers exceed 16 MiB, they fail instead. If the request arrives during an evaluation, all
//                   ranks stop at the next point of the evaluation where they exchange statuses.
//           save    rank 0 requests a snapshot of the state after this step
//           failed  a rank could not get its mini-batch or the learnable rows: it uses an empty mini-batch, so that the
//                   collective operations of all ranks still match; then all ranks return that rank's error
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/trainer/checkpoint/epoch_report.h"
#include "services/trainer/checkpoint/loop_snapshot.h"
#include "services/trainer/data/batch_prefetcher.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/data/learnable_rows.h"
#include "services/trainer/evaluation/evaluation.h"
#include "services/trainer/optim/optimizers.h"
#include "services/trainer/optim/schedules.h"
#include "services/trainer/task/batch_loss.h"
#include "services/trainer/training_observer.h"

namespace espalier::trainer {

struct LoopOptions {
  job::Training training;
  BatchLoss loss;
  uint32_t steps_per_epoch = 0;
  std::vector<std::vector<EdgeTypeId>> relations;  // the relations that each layer samples, by layer
  Timeouts timeouts;
  const std::atomic<bool>* stop_requested = nullptr;  // outlives the loop; null: the loop is never stopped
  const LoopSnapshot* start = nullptr;                // where to resume; outlives the loop; null: start at step 0
  SnapshotSink* snapshots = nullptr;   // outlives the loop; never null; NoSnapshots on ranks that save none
  LearnableRows* learnable = nullptr;  // outlives the loop; null: the model reads only features
  // Outlives the loop; never null. The loop calls on_epoch instead of the observer's OnEpoch.
  TrainingObserver* observer = nullptr;
  std::function<void(const EpochReport&)> on_epoch;  // may be empty; not called for epochs that `start` contains
  PhaseTracker phases = {};
  // May be empty. Called on every rank after the first epoch that this loop runs, if none of the epoch's mini-batches
  // had an edge on any rank.
  std::function<void()> on_no_edges;
};

enum class LoopEnd { kAllEpochs, kEarlyStopping, kStopRequested };

struct LoopResult {
  LoopEnd end = LoopEnd::kAllEpochs;
  std::vector<EpochReport> epochs;         // includes those of `start`; a stop request may cut the last one short
  std::vector<double> first_epoch_losses;  // of epoch 0, by step
  uint32_t best_epoch = 0;                 // with the best validation metric; without metrics, the last epoch
  std::optional<double> best_validation;
  uint32_t model_epoch = 0;  // epoch of best_state: best_epoch; with learnable rows, the last epoch
  NamedTensors best_state;   // copies of the model's parameters and buffers after model_epoch
};

// Trains `model` in place. `batches` must begin at the position of options.start. Every rank must call it. Errors of
// mini-batches, evaluations and the last snapshot are returned on all ranks. After any other error, for example if one
// rank runs out of memory, the caller must abandon the group; otherwise the other ranks wait until their deadline.
Result<LoopResult> RunTrainingLoop(Model& model, const NodeData& data, BatchPrefetcher& batches, Evaluator& evaluator,
                                   collective::Collective& collective, const LoopOptions& options);

}  // namespace espalier::trainer
