// The manifest of a checkpoint (docs/checkpoints.md): what a run needs to go on from a step as if it had never
// stopped, apart from tensors, which lie in the files that it lists. Written last: where there is no manifest there is
// no checkpoint.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/format/manifest.h"

namespace espalier::format {

inline constexpr const char* kCheckpointFormatName = "espalier.checkpoint";
inline constexpr int kCheckpointFormatVersion = 2;

// Files of a checkpoint, below its folder.
inline constexpr const char* kCheckpointModel = "model.safetensors";          // parameters and buffers
inline constexpr const char* kCheckpointBest = "best.safetensors";            // those of the best evaluation; may lack
inline constexpr const char* kCheckpointOptimizer = "optimizer.safetensors";  // steps taken and moments

// A later incarnation is newer whatever its step: it went on from a checkpoint of an earlier one.
struct CheckpointId {
  uint64_t incarnation = 0;
  uint64_t global_step = 0;  // steps done since the run began
  friend auto operator<=>(const CheckpointId&, const CheckpointId&) = default;
};

enum class CheckpointEnd { kGoesOn, kAllEpochs, kEarlyStopping };

// What results may depend on besides the job: resume warns where it differs.
struct CheckpointMath {
  uint64_t threads = 0;
  std::string torch, cpu_capability, blas, blas_kernel;
  std::string collective;  // backend of the all-reduce
  friend bool operator==(const CheckpointMath&, const CheckpointMath&) = default;
};

// One epoch's report, or the part of one that has run.
struct EpochRecord {
  uint32_t epoch = 0;
  double loss = 0;  // mean over the epoch's seeds; of a part: the sum
  double learning_rate = 0;
  std::optional<double> validation;
  uint64_t num_seeds = 0;
  double total_seconds = 0;
  std::map<std::string, double> seconds;  // "sample", "fetch", "wait", "compute", "communicate", "evaluate"
  friend bool operator==(const EpochRecord&, const EpochRecord&) = default;
};

struct LoopRecord {
  std::vector<EpochRecord> epochs;         // that have ended: 0, 1, ...
  EpochRecord partial;                     // of the epoch under way
  std::vector<double> first_epoch_losses;  // by step
  uint32_t best_epoch = 0;
  std::optional<double> best_validation;
  uint64_t evaluations_since_best = 0;
  friend bool operator==(const LoopRecord&, const LoopRecord&) = default;
};

struct CheckpointMetric {
  std::string name;  // "accuracy"
  bool higher_is_better = true;
  std::optional<double> value;  // of this checkpoint's own parameters, where they were evaluated
  friend bool operator==(const CheckpointMetric&, const CheckpointMetric&) = default;
};

struct CheckpointManifest {
  CheckpointId id;
  std::string job_name;
  // The step to go on with. next_step == steps_per_epoch: all steps of the epoch are done, its evaluation is not.
  uint32_t epoch = 0;
  uint32_t next_step = 0;
  uint32_t steps_per_epoch = 0;
  uint32_t num_epochs = 0;  // that the run was to have
  CheckpointEnd end = CheckpointEnd::kGoesOn;
  uint64_t seed = 0;
  // Everything that decides numbers, by its path in the document ("training.optimizer.learningRate") or of the graph
  // ("graph.numNodes"): a run with others is another run.
  std::map<std::string, std::string> fields;
  std::string partition_key;  // may be empty: unknown
  uint32_t num_partitions = 0;
  uint32_t num_trainers = 0;
  CheckpointMath math;
  LoopRecord loop;
  CheckpointMetric metric;
  std::vector<FileEntry> files;  // distinct keys
  uint64_t created_unix_seconds = 0;

  uint64_t size_bytes() const;  // of the files
};

// SHA-256 of `fields`: 64 hexadecimal digits, the same for the same job.
std::string JobDigest(const std::map<std::string, std::string>& fields);

const char* ToString(CheckpointEnd end);  // "GoesOn", "AllEpochs", "EarlyStopping"

std::string CheckpointManifestToJson(const CheckpointManifest& manifest);
// InvalidArgument names the field that is wrong; another format or format_version is refused by name. Untrusted
// input: what is returned is consistent (position, epochs, files, digest).
Result<CheckpointManifest> CheckpointManifestFromJson(const std::string& text);

}  // namespace espalier::format
