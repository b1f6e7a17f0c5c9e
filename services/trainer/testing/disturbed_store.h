// A tensor store that runs a function before one of its writes, to inject a fault.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/sampler/access/tensor_store.h"

namespace espalier::trainer {

// Forwards all calls to `store`, which must outlive this. Calls `disturb`, unless it is empty, before the n-th write of
// all ranks, counted from 1. Thread-safe if the store and `disturb` are.
class DisturbedStore final : public sampler::TensorStore {
 public:
  DisturbedStore(sampler::TensorStore& store, int nth_write, std::function<void()> disturb)
      : store_(store), writes_left_(nth_write), disturb_(std::move(disturb)) {}

  Status CreateTensor(NodeTypeId type, const std::string& name, DType dtype, const std::vector<int64_t>& row_shape,
                      Deadline deadline) override {
    return store_.CreateTensor(type, name, dtype, row_shape, deadline);
  }
  Status WriteRows(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes, const Tensor& rows,
                   Deadline deadline) override {
    if (writes_left_.fetch_sub(1) == 1 && disturb_ != nullptr) disturb_();
    return store_.WriteRows(type, name, nodes, rows, deadline);
  }
  Status DropTensor(NodeTypeId type, const std::string& name, Deadline deadline) override {
    return store_.DropTensor(type, name, deadline);
  }

 private:
  sampler::TensorStore& store_;
  std::atomic<int> writes_left_;  // atomic, because every rank's thread writes
  const std::function<void()> disturb_;
};

}  // namespace espalier::trainer
