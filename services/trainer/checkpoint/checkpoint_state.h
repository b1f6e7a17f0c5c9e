// Between a training loop's snapshot and the files of a checkpoint, and whether a checkpoint fits a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/format/checkpoint.h"
#include "services/trainer/checkpoint/loop_snapshot.h"
#include "services/trainer/ops/math_setup.h"

namespace espalier::trainer {

// A run, as its checkpoints describe it.
struct CheckpointFacts {
  std::string job_name;
  uint64_t incarnation = 0;
  uint64_t seed = 0;
  uint32_t num_epochs = 0;
  bool schedule_needs_length = false;  // learning rates depend on the number of epochs
  uint32_t steps_per_epoch = 0;
  std::map<std::string, std::string> fields;  // DecidingFields
  std::string partition_key;
  uint32_t num_partitions = 0;
  uint32_t num_trainers = 0;
  MathSettings math;
  std::string collective;  // backend
  std::string metric;      // the job's
  bool higher_is_better = true;
};

// Without files and time.
format::CheckpointManifest MakeManifest(const LoopSnapshot& snapshot, const CheckpointFacts& facts);
// Those that a snapshot has: all but learnable rows. Tensors are shared with it.
format::CheckpointFiles ToFiles(const LoopSnapshot& snapshot);
// Tensors are shared with the checkpoint. InvalidArgument where a tensor's type is none of torch's.
Result<LoopSnapshot> ToSnapshot(const format::LoadedCheckpoint& checkpoint);

// FailedPrecondition names what the checkpoint and the run do not agree on: a field that decides numbers, or fewer
// epochs than the checkpoint has behind it.
Status CheckFits(const format::CheckpointManifest& manifest, const CheckpointFacts& facts);

// What differs without being refused, as sentences that say what that changes; empty: the run goes on bit for bit.
std::vector<std::string> ChangesSince(const format::CheckpointManifest& manifest, const CheckpointFacts& facts);

}  // namespace espalier::trainer
