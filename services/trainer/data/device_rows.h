// Feature rows that a trainer keeps in its device's memory (spec.trainers.featureCache.deviceMemory). Rows of a
// mini-batch that are already on the device are neither gathered nor copied again. Steps read the same values as
// without this cache.
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

  // Returns the rows of all nodes of the plan's step, on the device of the slots, and stores rows in slots as planned.
  // `missing` contains the rows that are not in slots, in the order of StepPlan::missing_nodes, on any device. Throws
  // the exceptions of torch.
  torch::Tensor Apply(const sampler::SlotPlan& plan, const torch::Tensor& missing);

 private:
  torch::Tensor rows_;
};

// Used by two threads: each group of functions below is for one of them.
class DeviceRows {
 public:
  // Allocates slots for the rows of all node types with features, at most `memory_bytes`, and, in host memory, slots
  // for the original ids of the same nodes. ResourceExhausted: the device has too little free memory. Internal: the
  // device fails.
  static Result<std::unique_ptr<DeviceRows>> Make(uint64_t memory_bytes, const graph::PartitionBook& book,
                                                  const NodeData& data, torch::Device device);

  // For the thread that gathers mini-batches: plans the steps.
  sampler::ScheduledSlots& slots() { return slots_; }
  // Replaces the original ids of the missing nodes by the original ids of all nodes. Call it for each mini-batch, in
  // step order. Throws the exceptions of torch.
  void CompleteIds(BatchTensors* batch);

  // For the thread that trains. For each type with slots, replaces the features of the missing nodes by the features of
  // all nodes, on the device; then removes the plan from the mini-batch. Call it for each mini-batch, in step order.
  // ResourceExhausted: the device's memory is full.
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
