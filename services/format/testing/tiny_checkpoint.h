// A small checkpoint for tests.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "services/format/checkpoint/checkpoint.h"

namespace espalier::format {

inline Tensor FloatsFrom(float first, int64_t count) {
  auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(count));
  std::iota(values->begin(), values->end(), first);
  const void* data = values->data();
  return Tensor::Wrap(DType::kF32, {count}, data, std::move(values));
}

// Returns a manifest of a run that has completed two epochs of four steps, and `next_step` steps of the third epoch.
inline CheckpointManifest TinyCheckpoint(uint64_t incarnation, uint32_t next_step) {
  CheckpointManifest manifest;
  manifest.id = {incarnation, 8 + next_step};
  manifest.job_name = "tiny";
  manifest.epoch = 2;
  manifest.next_step = next_step;
  manifest.steps_per_epoch = 4;
  manifest.num_epochs = 5;
  manifest.seed = 7;
  manifest.fields = {{"training.seed", "7"}, {"training.batchSize", "50"}};
  manifest.partition_key = "abc";
  manifest.num_partitions = 2;
  manifest.num_trainers = 1;
  manifest.math = {1, "2.11.0", "AVX2", "oneMKL 2024.2", "AVX2,STRICT", "CPU", "BF16", "None"};
  for (uint32_t epoch = 0; epoch < 2; ++epoch) {
    EpochRecord record;
    record.epoch = epoch;
    record.loss = 1.0 / (3 + epoch);
    record.learning_rate = 0.1;
    record.validation = 0.5 + 0.1 * epoch;
    record.num_seeds = 180;
    record.total_seconds = 1.25;
    record.seconds = {{"compute", 1.0 / 7}};
    manifest.loop.epochs.push_back(record);
  }
  manifest.loop.partial.epoch = 2;
  manifest.loop.partial.loss = 0.1;
  manifest.loop.first_epoch_losses = {1.1, 1.0 / 3, 1e-300, 0.9};
  manifest.loop.best_epoch = 1;
  manifest.loop.best_validation = 0.6;
  manifest.loop.evaluations_since_best = 1;
  manifest.metric = {"Accuracy", true, std::nullopt};
  manifest.created_unix_seconds = 1767225600;
  return manifest;
}

// Returns files whose values depend on the id.
inline CheckpointFiles TinyFiles(const CheckpointId& id) {
  const auto first = static_cast<float>(100 * id.incarnation + id.global_step);
  CheckpointFiles files;
  files[kCheckpointModel].tensors = {{"layer0.weight", FloatsFrom(first, 6)}};
  files[kCheckpointBest].tensors = {{"layer0.weight", FloatsFrom(first / 2, 6)}};
  files[kCheckpointOptimizer].tensors = {{"moment1.layer0.weight", FloatsFrom(0, 6)}};
  return files;
}

}  // namespace espalier::format
