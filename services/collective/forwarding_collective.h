// A collective that passes every operation to another one. A decorator derives from it and overrides what it changes.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "services/collective/collective.h"

namespace espalier::collective {

class ForwardingCollective : public Collective {
 public:
  Rank rank() const override { return group_->rank(); }
  uint32_t size() const override { return group_->size(); }
  const char* backend() const override { return group_->backend(); }
  Status AllReduceSum(std::span<float> values, Deadline deadline) override {
    return group_->AllReduceSum(values, deadline);
  }
  Status AllReduceSum(std::span<double> values, Deadline deadline) override {
    return group_->AllReduceSum(values, deadline);
  }
  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override {
    return group_->Broadcast(bytes, root, deadline);
  }
  Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) override {
    return group_->AllGather(bytes, deadline);
  }
  Status Barrier(Deadline deadline) override { return group_->Barrier(deadline); }
  void Abandon() override { group_->Abandon(); }
  Status PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) override {
    return group_->PollUntilAllDone(is_done, deadline);
  }
  bool SumsOnDevice() const override { return group_->SumsOnDevice(); }
  Status AllReduceSumOnDevice(DeviceFloats values, Deadline deadline) override {
    return group_->AllReduceSumOnDevice(values, deadline);
  }

 protected:
  explicit ForwardingCollective(std::unique_ptr<Collective> group) : group_(std::move(group)) {}

  Collective& group() { return *group_; }
  // Destroys the other collective. Called by the destructor of a derived class if members of the derived class must
  // outlive the other collective. No operation may follow.
  void DestroyGroup() { group_.reset(); }

 private:
  std::unique_ptr<Collective> group_;
};

}  // namespace espalier::collective
