// Synchronous data parallelism. Every rank takes its share of each step's global batch, empty ones too; gradients,
// the loss and three flags are summed over ranks in one buffer; every rank then makes the same update.
//
//   flags:  stop    somebody was asked to stop: all stop after this step, or before it where a mini-batch is given up
//                   for that (without learnable rows); in an evaluation, where they next agree
//           save    rank 0 wants the state after this step saved
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
#include "services/trainer/checkpoint/epoch_report.h"
#include "services/trainer/checkpoint/loop_snapshot.h"
#include "services/trainer/data/batch_prefetcher.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/data/learnable_rows.h"
#include "services/trainer/evaluation/evaluation.h"
#include "services/trainer/optim/optimizers.h"
#include "services/trainer/optim/schedules.h"
#include "services/trainer/training_observer.h"

namespace espalier::trainer {

// This rank's share of a batch's loss, of the seeds' outputs f32 [seeds, C].
using BatchLoss = std::function<torch::Tensor(const BatchTensors& batch, const torch::Tensor& outputs)>;

struct LoopOptions {
  job::Training training;
  BatchLoss loss;
  uint32_t steps_per_epoch = 0;
  std::vector<std::vector<EdgeTypeId>> relations;  // by layer
  Timeouts timeouts;
  const std::atomic<bool>* stop_requested = nullptr;  // outlives the loop; null: never
  const LoopSnapshot* start = nullptr;                // outlives the loop; null: from the first step
  SnapshotSink* snapshots = nullptr;                  // outlives the loop; null on ranks that keep none
  LearnableRows* learnable = nullptr;                 // outlives the loop; null: the model reads features alone
  TrainingObserver* observer = nullptr;  // outlives the loop; never null; on_epoch is called in place of its OnEpoch
  std::function<void(const EpochReport&)> on_epoch;  // may be empty; not for epochs that `start` contains
  PhaseTracker* phases = nullptr;                    // outlives the loop; may be null
  // May be empty. On every rank, after the first epoch that is trained here, where no mini-batch of any rank had an
  // edge.
  std::function<void()> on_no_edges;
};

enum class LoopEnd { kAllEpochs, kEarlyStopping, kStopRequested };

struct LoopResult {
  LoopEnd end = LoopEnd::kAllEpochs;
  std::vector<EpochReport> epochs;         // those of `start` too; the last may be cut short by a request to stop
  std::vector<double> first_epoch_losses;  // by step
  uint32_t best_epoch = 0;                 // of the best validation metric; without one, the last
  std::optional<double> best_validation;
  uint32_t model_epoch = 0;  // whose model is taken: best_epoch, but the last where there are learnable rows
  NamedTensors best_state;   // copies of the model's parameters and buffers then
};

// Trains `model` in place. Everything outlives the call. `batches` begin where `start` says. An error is the same on
// all ranks, unless it is of the group of ranks itself.
Result<LoopResult> RunTrainingLoop(Model& model, const NodeData& data, BatchPrefetcher& batches, Evaluator& evaluator,
                                   collective::Collective& collective, const LoopOptions& options);

}  // namespace espalier::trainer
