// Forwards to a collective, each operation in a CommunicationScope of the stop watcher, because waiting for other ranks
// is not a stall of this rank.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "services/collective/forwarding_collective.h"
#include "services/trainer/main/stop_watcher.h"

namespace espalier::trainer {

// Used by one thread, except that any thread may call Abandon. The watcher must outlive this.
class WatchedCollective final : public collective::ForwardingCollective {
 public:
  WatchedCollective(std::unique_ptr<collective::Collective> group, StopWatcher& watcher)
      : ForwardingCollective(std::move(group)), watcher_(watcher) {}

  Status AllReduceSum(std::span<float> values, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return ForwardingCollective::AllReduceSum(values, deadline);
  }
  Status AllReduceSum(std::span<double> values, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return ForwardingCollective::AllReduceSum(values, deadline);
  }
  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return ForwardingCollective::Broadcast(bytes, root, deadline);
  }
  Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return ForwardingCollective::AllGather(bytes, deadline);
  }
  Status Barrier(Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return ForwardingCollective::Barrier(deadline);
  }
  Status PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return ForwardingCollective::PollUntilAllDone(is_done, deadline);
  }
  Status AllReduceSumOnDevice(collective::DeviceFloats values, Deadline deadline) override {
    const StopWatcher::CommunicationScope scope(watcher_);
    return ForwardingCollective::AllReduceSumOnDevice(values, deadline);
  }

 private:
  StopWatcher& watcher_;
};

}  // namespace espalier::trainer
