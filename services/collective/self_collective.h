// Collective of one rank: every operation is the identity. Unlike a larger group, it stays usable after an error.
#pragma once

#include <atomic>

#include "services/collective/collective.h"

namespace espalier::collective {

class SelfCollective final : public Collective {
 public:
  Rank rank() const override { return Rank(0); }
  uint32_t size() const override { return 1; }
  const char* backend() const override { return "None"; }
  Status AllReduceSum(std::span<float>, Deadline) override { return CheckInGroup(); }
  Status AllReduceSum(std::span<double>, Deadline) override { return CheckInGroup(); }
  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override;
  Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) override;
  Status Barrier(Deadline) override { return CheckInGroup(); }
  Status PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) override;
  void Abandon() override { is_abandoned_ = true; }

 private:
  // Returns Unavailable after Abandon.
  Status CheckInGroup() const;

  std::atomic<bool> is_abandoned_ = false;
};

}  // namespace espalier::collective
