// The manifest of a checkpoint (docs/checkpoints.md): the state, except tensors, from which a run resumes at a step
// with the same results as an uninterrupted run. It lists the files that hold the tensors. It is written last: a folder
// without a manifest holds no checkpoint.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/format/files/file_entry.h"

namespace espalier::format {

inline constexpr const char* kCheckpointFormatName = "espalier.checkpoint";
inline constexpr int kCheckpointFormatVersion = 2;

// Keys of the files of a checkpoint, relative to its folder.
inline constexpr const char* kCheckpointModel = "model.safetensors";          // parameters and buffers
inline constexpr const char* kCheckpointBest = "best.safetensors";            // the model of the best epoch; optional
inline constexpr const char* kCheckpointOptimizer = "optimizer.safetensors";  // optimizer state: steps, moments

// Ordered by incarnation, then by step: a checkpoint of a later incarnation is newer even if its step is smaller,
// because the later incarnation has resumed from an earlier checkpoint or has started from the beginning.
struct CheckpointId {
  uint64_t incarnation = 0;
  uint64_t global_step = 0;  // steps completed since the start of epoch 0
  friend auto operator<=>(const CheckpointId&, const CheckpointId&) = default;
};

// Why training has ended with this checkpoint; kNotEnded: it has not ended.
enum class CheckpointEnd { kNotEnded, kAllEpochs, kEarlyStopping };

// The environment that results may depend on in addition to the job. Resume warns if it differs.
struct CheckpointMath {
  uint64_t threads = 0;           // of a trainer
  std::string torch;              // version
  std::string cpu_capability;     // "AVX2"
  std::string blas;               // library and version
  std::string blas_kernel;        // "Haswell"
  std::string device = "CPU";     // "CPU", or the GPU's name: "CUDA NVIDIA H200"
  std::string precision = "F32";  // of the layers' matrix products: "F32" or "BF16"
  std::string collective;         // backend of the all-reduce: "None", "Ring", "NCCL 2.28.9"
  friend bool operator==(const CheckpointMath&, const CheckpointMath&) = default;
};

// The report of a completed epoch, or of the completed steps of the epoch in progress.
struct EpochRecord {
  uint32_t epoch = 0;
  double loss = 0;  // mean over the seeds of the epoch; in the epoch in progress: sum over its seeds so far
  double learning_rate = 0;
  std::optional<double> validation;  // metric of the validation part; nullopt: not evaluated, or undefined
  uint64_t num_seeds = 0;
  double total_seconds = 0;
  std::map<std::string, double>
      seconds;  // by activity: "sample", "fetch", "wait", "compute", "communicate", "evaluate"
  friend bool operator==(const EpochRecord&, const EpochRecord&) = default;
};

// The progress of the training loop.
struct LoopRecord {
  std::vector<EpochRecord> epochs;         // the completed epochs 0, 1, ...
  EpochRecord partial;                     // the epoch in progress
  std::vector<double> first_epoch_losses;  // losses of the steps of epoch 0
  uint32_t best_epoch = 0;
  std::optional<double> best_validation;
  uint64_t evaluations_since_best = 0;
  friend bool operator==(const LoopRecord&, const LoopRecord&) = default;
};

struct CheckpointMetric {
  std::string name;  // "accuracy"
  bool higher_is_better = true;
  std::optional<double> value;  // for the parameters of this checkpoint; nullopt: not evaluated, or undefined
  friend bool operator==(const CheckpointMetric&, const CheckpointMetric&) = default;
};

struct CheckpointManifest {
  CheckpointId id;
  std::string job_name;
  // The step from which a run resumes. next_step == steps_per_epoch: all steps of the epoch are done, but its
  // evaluation is not.
  uint32_t epoch = 0;
  uint32_t next_step = 0;
  uint32_t steps_per_epoch = 0;
  uint32_t num_epochs = 0;  // requested by the job
  CheckpointEnd end = CheckpointEnd::kNotEnded;
  uint64_t seed = 0;
  // The settings that must be equal in a run that resumes from this checkpoint, by their path in the job document
  // ("training.optimizer.learningRate") or, for properties of the graph, below "graph" ("graph.numNodes").
  std::map<std::string, std::string> fields;
  std::string partition_key;  // empty: unknown
  uint32_t num_partitions = 0;
  uint32_t num_trainers = 0;
  CheckpointMath math;
  LoopRecord loop;
  CheckpointMetric metric;
  std::vector<FileEntry> files;  // distinct keys
  uint64_t created_unix_seconds = 0;

  uint64_t size_bytes() const;  // total size of the files
};

// Returns the SHA-256 of CheckpointManifest::fields as 64 hexadecimal digits.
std::string DigestFields(const std::map<std::string, std::string>& fields);

const char* ToString(CheckpointEnd end);  // "GoesOn", "AllEpochs", "EarlyStopping"

std::string CheckpointManifestToJson(const CheckpointManifest& manifest);
// Parses an untrusted manifest. Returns InvalidArgument that names the invalid field, also for another format or
// format_version. A returned manifest is consistent: global_step agrees with epoch and next_step, and loop.epochs has
// one report for each completed epoch.
Result<CheckpointManifest> CheckpointManifestFromJson(const std::string& text);

}  // namespace espalier::format
