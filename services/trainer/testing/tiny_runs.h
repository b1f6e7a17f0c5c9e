// Runs on a tiny graph, with threads as trainers, that can be stopped and go on.
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

// GraphSAGE of two layers, three epochs, with dropout.
job::DistTraining TinyJob();

using Store = std::shared_ptr<storage::MemoryStore>;
Store NewStore();

struct Attempt {
  Store store;  // null: no checkpoints
  uint64_t incarnation = 1;
  uint32_t trainers = 1;
  uint32_t partitions = 2;
  uint64_t stop_after = UINT64_MAX;  // steps of this incarnation
  bool stop_in_evaluation = false;   // the first one; no checkpoint is due before it
  // The last rank is asked to stop while it waits for the mini-batch after so many steps, and gives it up.
  uint64_t give_up_after = UINT64_MAX;
  ResumeMode resume = ResumeMode::kAuto;
  storage::StoreLocation resume_from;
  uint64_t* num_steps = nullptr;     // counts those of this incarnation
  uint64_t* steps_before = nullptr;  // counts those that a checkpoint brought
};

// What each rank ends with.
std::vector<Result<TrainOutcome>> RunRanks(const job::DistTraining& job, const Attempt& run);

// What rank 0 ends with; a rank that fails, or that has other parameters, fails the test.
TrainOutcome TrainTiny(const job::DistTraining& job, const Attempt& run = {});

// The error of all ranks.
Status RunToError(const job::DistTraining& job, const Attempt& run);

// Parameters, learnable rows, losses, metrics: all equal.
void ExpectSame(const TrainOutcome& resumed, const TrainOutcome& whole, const std::string& where);

// The folder names of the store's checkpoints, each of which must be complete and sound.
std::vector<std::string> Checkpoints(const Store& store);

}  // namespace espalier::trainer
