// Feature rows that a trainer keeps in its device's memory (spec.trainers.featureCache.deviceMemory). A mini-batch's
// rows that are there are neither gathered nor copied to the device. The values that a step reads do not depend on it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "services/graph/partition_book.h"
#include "services/sampler/row_cache/scheduled_slots.h"
#include "services/trainer/data/batch_tensors.h"
#include "services/trainer/data/node_data.h"

namespace espalier::trainer {

// Rows of one node type in slots: a tensor [slots, row shape...].
class RowSlots {
 public:
  // Allocates the slots, whose rows are undefined. Throws the exceptions of torch.
  RowSlots(const std::vector<int64_t>& shape, const torch::TensorOptions& options)
      : rows_(torch::empty(shape, options)) {}

  // Carries out a plan. Returns the rows of all nodes of the step, on the device of the slots. `missing` has those that
  // the plan does not find in slots, on any device. Throws the exceptions of torch.
  torch::Tensor Apply(const sampler::SlotPlan& plan, const torch::Tensor& missing);

 private:
  torch::Tensor rows_;
};

// Two threads use it, one for each group of functions.
class DeviceRows {
 public:
  // Allocates slots for the feature rows of all node types, at most `memory_bytes`, and slots in host memory for their
  // original ids. ResourceExhausted: the device does not have so much free memory. Internal: the device fails.
  static Result<std::unique_ptr<DeviceRows>> Make(uint64_t memory_bytes, const graph::PartitionBook& book,
                                                  const NodeData& data, torch::Device device);

  // For the thread that gathers mini-batches.
  sampler::ScheduledSlots& slots() { return slots_; }
  // Replaces original ids of the missing nodes by those of all nodes. Call it for each mini-batch, in step order.
  // Throws the exceptions of torch.
  void CompleteIds(BatchTensors* batch);

  // For the thread that trains.
  // Replaces features of the missing nodes by those of all nodes, on the device. Call it for each mini-batch, in step
  // order. ResourceExhausted: the device's memory is full.
  Status CompleteFeatures(BatchTensors* batch);

  // Returns the memory of the slots on the device, in bytes. Thread-safe.
  uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  explicit DeviceRows(const std::vector<sampler::SlotsOfType>& slots) : slots_(slots) {}

  sampler::ScheduledSlots slots_;
  // By NodeTypeId; nullopt: the type has no slots.
  std::vector<std::optional<RowSlots>> features_;  // f32 [slots, number of features]
  std::vector<std::optional<RowSlots>> ids_;       // i64 [slots], in host memory
  uint64_t memory_bytes_ = 0;
};

}  // namespace espalier::trainer
