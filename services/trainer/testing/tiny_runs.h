// Runs on a tiny graph, with threads as trainers, that can be stopped and resumed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/storage/memory_store.h"
#include "services/storage/open_store.h"
#include "services/trainer/checkpoint/resume.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

inline constexpr const char* kCheckpointsOfRuns = "run/checkpoints";
inline constexpr uint32_t kStepsPerEpoch = 3;  // 60 training nodes in batches of 25

// Returns a job with GraphSAGE of two layers, three epochs, with dropout.
job::DistTraining TinyJob();

using Store = std::shared_ptr<storage::MemoryStore>;
Store NewStore();

struct Attempt {
  Store store;  // null: no checkpoints
  uint64_t incarnation = 1;
  uint32_t trainers = 1;
  uint32_t partitions = 2;
  uint64_t stop_after = UINT64_MAX;  // steps of this incarnation
  bool stop_in_evaluation = false;   // during the first evaluation; no checkpoint is due before it
  // The last rank gets a stop request while it waits for the mini-batch after this many steps, and cancels it.
  uint64_t give_up_after = UINT64_MAX;
  ResumeMode resume = ResumeMode::kAuto;
  storage::StoreLocation resume_from;
  uint64_t* num_steps = nullptr;     // set to the number of steps of this incarnation
  uint64_t* steps_before = nullptr;  // set to the number of steps in the checkpoint
};

// Returns the outcome of each rank.
std::vector<Result<TrainOutcome>> RunRanks(const job::DistTraining& job, const Attempt& run);

// Returns the outcome of rank 0. A rank that returns an error or has different parameters fails the test.
TrainOutcome TrainTiny(const job::DistTraining& job, const Attempt& run = {});

// Returns the error of rank 0, which all ranks are expected to have.
Status RunToError(const job::DistTraining& job, const Attempt& run);

// Expects equal parameters, learnable rows, losses and metrics.
void ExpectSame(const TrainOutcome& resumed, const TrainOutcome& whole, const std::string& where);

// Returns the folder names of the store's checkpoints; expects each of them to be complete and valid.
std::vector<std::string> Checkpoints(const Store& store);

}  // namespace espalier::trainer
