// One trainer's part of a job: from an open graph to a trained model and its files. What runs in espalier-trainer,
// and in tests with threads as trainers.
#pragma once

#include <atomic>
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
#include "services/trainer/ops/math_setup.h"
#include "services/trainer/training_loop.h"
#include "services/trainer/training_observer.h"

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
  uint64_t inference_chunk_nodes = 0;  // evaluated at once, results depend on it; 0: ChooseChunkNodes
  uint64_t scoring_chunk = 4096;       // edges, and candidates, scored at once; likewise
  Timeouts timeouts;
  MathSettings math;                                  // reported with the results
  const std::atomic<bool>* stop_requested = nullptr;  // outlives the call; null: never
  TrainingObserver* observer = nullptr;               // outlives the call; null: nothing is observed
  telemetry::MetricRegistry* metrics = nullptr;       // outlives the call; null: nothing is counted
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
