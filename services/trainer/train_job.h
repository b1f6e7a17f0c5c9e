// One trainer's part of a job: from an open graph to a trained model and its files. What runs in espalier-trainer,
// and in tests with threads as trainers.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/storage/open_store.h"
#include "services/trainer/checkpoint/checkpoint_writer.h"
#include "services/trainer/checkpoint/resume.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/epoch_plan.h"
#include "services/trainer/evaluation/run_phase.h"
#include "services/trainer/ops/math_setup.h"
#include "services/trainer/training_loop.h"

namespace espalier::trainer {

struct TrainOptions {
  std::string graph_name;         // for results; empty: the document's URI
  storage::StoreLocation output;  // the job's prefix: rank 0 writes below it (outputs.h); without a store: nothing
  storage::StoreLocation model;   // the model file to begin with (storage::LocateFile); without a store: a new model
  storage::StoreLocation chosen_nodes;  // whose results are written (chosen_nodes.h); without a store: all nodes'
  std::string audit_path;               // this rank's record of what was sampled; empty: none
  storage::StoreLocation checkpoints;   // the folder of checkpoints; without a store none are written or looked for
  ResumeMode resume = ResumeMode::kAuto;
  storage::StoreLocation resume_from;  // a checkpoint or a folder of them, another run's for one; without a store: none
  std::string partition_key;           // of the open graph; recorded in checkpoints
  uint64_t incarnation = 1;
  std::vector<std::string> warnings;   // of the document and the partitioning; reported with the run's own
  uint64_t inference_chunk_nodes = 0;  // evaluated at once, results depend on it; 0: ChunkNodesOf
  uint64_t scoring_chunk = 4096;       // edges, and candidates, scored at once; likewise
  Timeouts timeouts;
  MathSettings math;                                  // reported with the results
  const std::atomic<bool>* stop_requested = nullptr;  // outlives the call; null: never
  std::function<void(const EpochReport&)> on_epoch;   // may be empty
  std::function<void(const RunPosition&)>
      on_resumed;                                   // may be empty; before the first step: the last one of a checkpoint
  std::function<void(const RunPosition&)> on_step;  // may be empty
  // May be empty. The phase that the run is in and the share of it that is done, at each of its chunks (PhaseTracker).
  PhaseTracker::Report on_phase;
  // May be empty. Around what a step computes, which takes what it takes and asks no server.
  std::function<void()> on_computing, on_computed;
  // May be empty. Called for each piece of what is long between steps: evaluations, copies of learnable rows.
  std::function<void()> on_progress;
  // May be empty. A request to stop is met, and the trainers ask servers nothing more; mini-batches that are fetched
  // ahead may be under way.
  std::function<void()> on_stopped;
  // May be empty. After on_stopped, when the last checkpoint is kept, and after any error of the training: nobody needs
  // the mini-batches that are under way. Where the run goes on, on_progress follows when none is.
  std::function<void()> on_saved;
  // May be empty. Called on rank 0 for each checkpoint, by the thread that uploads.
  std::function<void(const CheckpointReport&)> on_checkpoint;
  // May be empty. Called for each entry of TrainOutcome::warnings as it becomes known, from before the first step on.
  std::function<void(const std::string&)> on_warning;
  telemetry::MetricRegistry* metrics = nullptr;  // outlives the call; null: nothing is counted
};

// The same on every rank, seconds apart.
struct TrainOutcome {
  LoopResult loop;                   // without the best state: the model has become it
  std::optional<double> validation;  // of the best parameters, the job's metric
  std::optional<double> test;
  std::string parameters_digest;  // of the best parameters
  std::string rows_digest;        // LearnableRows::Digest; empty without such rows, and where the run was stopped
  int64_t num_outputs = 0;
  double total_seconds = 0;
  std::string resumed_from;       // the checkpoint; empty: trained from the start
  CheckpointSummary checkpoints;  // of rank 0; empty on the others
  // Warnings, one sentence each: labels and classes that are missing, metrics that are undefined.
  std::vector<std::string> warnings;

  bool stopped() const { return loop.end == LoopEnd::kStopRequested; }
};

// Every rank of the group calls it with the same job. A job that was asked to stop ends ok with stopped(): its last
// checkpoint and model files are written, result.json is not. On an error the group is abandoned, so that no rank waits
// for another.
Result<TrainOutcome> TrainJob(const job::DistTraining& job, GraphAccess graph, sampler::MiniBatchSource& batches,
                              collective::Collective& collective, const TrainOptions& options);

}  // namespace espalier::trainer
