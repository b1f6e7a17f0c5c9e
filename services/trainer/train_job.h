// One trainer's part of a job, from an open graph to a trained model and its output files. espalier-trainer uses it,
// and so do tests, which run trainers as threads.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/row_cache/scheduled_row_cache.h"
#include "services/sampler/row_cache/scheduled_slots.h"
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
  std::string graph_name;               // recorded in results; empty: the document's URI
  storage::StoreLocation output;        // the job's prefix, below which rank 0 writes (outputs.h); no store: no output
  storage::StoreLocation model;         // file of spec.training.model.uri (storage::LocateFile); no store: a new model
  storage::StoreLocation chosen_nodes;  // nodes whose results are written (chosen_nodes.h); no store: all
  std::string audit_path;               // file for this rank's record of its mini-batches; empty: none
  storage::StoreLocation checkpoints;   // the run's own checkpoints; no store: none are written, nor read from here
  ResumeMode resume = ResumeMode::kAuto;
  storage::StoreLocation resume_from;  // a checkpoint or a folder of checkpoints, of any run; no store: none
  std::string partition_key;           // of the open graph; recorded in checkpoints
  uint64_t incarnation = 1;
  std::vector<std::string> warnings;  // of the caller, for example about the document; added to TrainOutcome::warnings

  // Chunk sizes, on which the last bits of results depend: nodes that are computed at once (0: ChooseChunkNodes), and
  // edges or candidates that are scored at once. The draws of sampled evaluations depend on inference_chunk_nodes,
  // too.
  uint64_t inference_chunk_nodes = 0;
  uint64_t scoring_chunk = 4096;

  Timeouts timeouts;
  MathSettings math;                                  // recorded in results
  torch::Device device = torch::kCPU;                 // where the model is trained and applied
  bool keeps_rows_on_cpu = false;                     // whether featureCache.deviceMemory applies to a CPU; for tests
  const std::atomic<bool>* stop_requested = nullptr;  // outlives the call; null: the run is never stopped
  std::shared_ptr<SharedMemory> shared_rows = {};     // feature rows that the machine's trainers share; null: none
  TrainingObserver* observer = nullptr;               // outlives the call; null: none
  telemetry::MetricRegistry* metrics = nullptr;       // outlives the call; null: none
};

// The result of a run. All ranks have the same values, except durations, `checkpoints`, `feature_cache`, `device_rows`
// and the warnings from TrainOptions. The kept model is that of loop.model_epoch.
struct TrainOutcome {
  LoopResult loop;                   // best_state is empty, because it has been loaded into the model
  std::optional<double> validation;  // the job's metric on the validation part; nullopt: not measured or undefined
  std::optional<double> test;        // the same metric on the test part
  std::string parameters_digest;     // of the kept model (DigestParameters)
  std::string rows_digest;           // from LearnableRows::Digest; empty without learnable rows and for a stopped run
  int64_t num_outputs = 0;
  double total_seconds = 0;
  std::string resumed_from;                              // the checkpoint; empty: the run started from the beginning
  CheckpointSummary checkpoints;                         // empty on ranks other than 0
  std::optional<sampler::RowCacheCounts> feature_cache;  // of this rank; nullopt: the job has no cache
  sampler::SlotCounts device_rows;                       // of this rank: hits and misses of feature rows on its device
  // Warnings, one sentence each, for example about missing labels or classes and undefined metrics.
  std::vector<std::string> warnings;

  bool stopped() const { return loop.end == LoopEnd::kStopRequested; }
};

// Runs one trainer's part of the job and blocks until it has ended. Every rank of the group must call it with the same
// job. If a stop request ends training, it returns OK with stopped(): the last checkpoint and the model files are
// written, result.json is not. On an error it abandons the group, so that the other ranks do not wait for this one.
Result<TrainOutcome> TrainJob(const job::DistTraining& job, GraphAccess graph, sampler::MiniBatchSource& batches,
                              collective::Collective& collective, const TrainOptions& options);

}  // namespace espalier::trainer
