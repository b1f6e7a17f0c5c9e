// Converts between a training loop's snapshot and a checkpoint's manifest and files, and checks whether a run may
// resume from a checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/format/checkpoint/checkpoint.h"
#include "services/trainer/checkpoint/checkpoint_fields.h"
#include "services/trainer/checkpoint/loop_snapshot.h"
#include "services/trainer/ops/math_setup.h"

namespace espalier::trainer {

// The description of a run that is stored in its checkpoints.
struct CheckpointFacts {
  std::string job_name;
  uint64_t incarnation = 0;
  uint64_t seed = 0;
  uint32_t num_epochs = 0;
  bool schedule_needs_length = false;  // whether learning rates depend on num_epochs
  uint32_t steps_per_epoch = 0;
  std::map<std::string, std::string> fields;  // from ListDecidingFields
  EdgeTypeSpellings edge_types;               // of the graph, from ListEdgeTypeSpellings
  std::string partition_key;
  uint32_t num_partitions = 0;
  uint32_t num_trainers = 0;
  MathSettings math;
  job::Precision precision = job::Precision::kF32;
  std::string collective;  // Collective::backend()
  std::string metric;      // the name of the job's metric
  bool higher_is_better = true;
};

// Returns the manifest of a snapshot, without the list of files and the creation time.
format::CheckpointManifest MakeManifest(const LoopSnapshot& snapshot, const CheckpointFacts& facts);
// Returns the files of a snapshot: all files of a checkpoint except learnable rows. They share the snapshot's tensors.
format::CheckpointFiles ToFiles(const LoopSnapshot& snapshot);
// Returns the snapshot of a loaded checkpoint. It shares the checkpoint's tensors. InvalidArgument if a tensor has the
// dtype U16, U32 or U64.
Result<LoopSnapshot> ToSnapshot(const format::LoadedCheckpoint& checkpoint);

// Returns OK if the run may resume from the checkpoint. FailedPrecondition if fields that determine the results differ,
// or if the checkpoint is in an epoch that the job does not have; the message names the differences.
Status CheckFits(const format::CheckpointManifest& manifest, const CheckpointFacts& facts);

// Describes how the run differs from the run that wrote the checkpoint: one text, with the effect on the results, for
// each difference that CheckFits accepts and that may change the results. Empty: the results are bitwise those of an
// uninterrupted run.
std::vector<std::string> DescribeChanges(const format::CheckpointManifest& manifest, const CheckpointFacts& facts);

}  // namespace espalier::trainer
