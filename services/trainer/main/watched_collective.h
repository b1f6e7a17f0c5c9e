// Forwards to a collective and marks the time of each operation for the stop watcher: a wait for other ranks is not a
// stall of this rank.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "services/collective/collective.h"
#include "services/trainer/main/stop_watcher.h"

namespace espalier::trainer {

// Owned by one thread, except for Abandon. The watcher must outlive this.
class WatchedCollective final : public collective::Collective {
 public:
  WatchedCollective(std::unique_ptr<collective::Collective> group, StopWatcher& watcher)
      : group_(std::move(group)), watcher_(watcher) {}

  Rank rank() const override { return group_->rank(); }
  uint32_t size() const override { return group_->size(); }
  const char* backend() const override { return group_->backend(); }
  Status AllReduceSum(std::span<float> values, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return group_->AllReduceSum(values, deadline);
  }
  Status AllReduceSum(std::span<double> values, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return group_->AllReduceSum(values, deadline);
  }
  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return group_->Broadcast(bytes, root, deadline);
  }
  Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return group_->AllGather(bytes, deadline);
  }
  Status Barrier(Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return group_->Barrier(deadline);
  }
  Status PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return group_->PollUntilAllDone(is_done, deadline);
  }
  bool SumsOnDevice() const override { return group_->SumsOnDevice(); }
  Status AllReduceSumOnDevice(collective::DeviceFloats values, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return group_->AllReduceSumOnDevice(values, deadline);
  }
  void Abandon() override { group_->Abandon(); }

 private:
  const std::unique_ptr<collective::Collective> group_;
  StopWatcher& watcher_;
};

}  // namespace espalier::trainer
