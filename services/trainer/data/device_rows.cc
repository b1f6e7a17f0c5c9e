// The features of a step are combined on the device: rows from slots and rows that the host has gathered are copied to
// their places. New rows are stored in slots afterwards, because a stored row may replace one that this step reads. No
// copy writes to an index twice, so the result does not depend on the order of threads on the device.
#include "services/trainer/data/device_rows.h"

#include <string>

#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {
namespace {

torch::Tensor ToIndices(const std::vector<int64_t>& indices, torch::Device device) {
  return torch::from_blob(const_cast<int64_t*>(indices.data()), {static_cast<int64_t>(indices.size())}, torch::kInt64)
      .to(device);
}

}  // namespace

torch::Tensor RowSlots::Apply(const sampler::SlotPlan& plan, const torch::Tensor& missing) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = rows_.device();
  const torch::Tensor gathered = missing.to(device);
  std::vector<int64_t> shape = rows_.sizes().vec();
  shape[0] = static_cast<int64_t>(plan.hit_places.size() + plan.missing_places.size());
  torch::Tensor rows = torch::empty(shape, rows_.options());
  rows.index_copy_(0, ToIndices(plan.hit_places, device), rows_.index_select(0, ToIndices(plan.hit_slots, device)));
  rows.index_copy_(0, ToIndices(plan.missing_places, device), gathered);
  rows_.index_copy_(0, ToIndices(plan.stored_slots, device),
                    gathered.index_select(0, ToIndices(plan.stored_rows, device)));
  return rows;
}

Result<std::unique_ptr<DeviceRows>> DeviceRows::Make(uint64_t memory_bytes, const graph::PartitionBook& book,
                                                     const NodeData& data, torch::Device device) {
  std::vector<uint64_t> num_nodes, row_bytes;
  for (size_t type = 0; type < data.feature_widths().size(); ++type) {
    num_nodes.push_back(book.num_nodes(NodeTypeId(static_cast<uint16_t>(type))));
    row_bytes.push_back(static_cast<uint64_t>(data.feature_widths()[type]) * sizeof(float));
  }
  const std::vector<sampler::SlotsOfType> slots = sampler::DivideIntoSlots(memory_bytes, num_nodes, row_bytes);
  std::unique_ptr<DeviceRows> rows(new DeviceRows(slots));
  for (const sampler::SlotsOfType& of_type : slots) rows->memory_bytes_ += of_type.num_slots * of_type.row_bytes;
  try {
    for (size_t type = 0; type < slots.size(); ++type) {
      std::optional<RowSlots>& features = rows->features_.emplace_back();
      std::optional<RowSlots>& ids = rows->ids_.emplace_back();
      const auto num_slots = static_cast<int64_t>(slots[type].num_slots);
      if (num_slots == 0) continue;
      features.emplace(std::vector<int64_t>{num_slots, data.feature_widths()[type]},
                       torch::dtype(torch::kFloat).device(device));
      ids.emplace(std::vector<int64_t>{num_slots}, torch::dtype(torch::kInt64));
    }
  } catch (const std::exception& error) {  // thrown by torch
    const std::string what = "spec.trainers.featureCache.deviceMemory: cannot allocate " +
                             std::to_string(rows->memory_bytes_) + " bytes on " + device.str() + ": " + error.what();
    return IsOutOfMemory(error) ? ResourceExhausted(what + "; set a smaller deviceMemory") : Internal(what);
  }
  return rows;
}

void DeviceRows::CompleteIds(BatchTensors* batch) {
  for (size_t type = 0; type < ids_.size(); ++type) {
    torch::Tensor& ids = batch->original_ids[type];
    if (ids_[type].has_value()) ids = ids_[type]->Apply(batch->plan->slots[type], ids);
  }
}

Status DeviceRows::CompleteFeatures(BatchTensors* batch) {
  try {
    for (size_t type = 0; type < features_.size(); ++type) {
      torch::Tensor& features = batch->features[type];
      if (features_[type].has_value()) features = features_[type]->Apply(batch->plan->slots[type], features);
    }
  } catch (const std::exception& error) {  // thrown by torch, for example out of memory
    return FromTorchError(error).While("combining features on the device");
  }
  batch->plan.reset();
  return Status();
}

}  // namespace espalier::trainer
