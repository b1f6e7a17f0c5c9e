// A limit on the bytes that several owners hold together.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace espalier::shard {

// Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit) : limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Reserves `bytes` and returns true; if they exceed the rest of the limit, reserves nothing and returns false.
  bool TryReserve(uint64_t bytes) {
    uint64_t reserved = reserved_.load();
    do {
      if (bytes > limit_ - reserved) return false;
    } while (!reserved_.compare_exchange_weak(reserved, reserved + bytes));
    return true;
  }
  // Releases bytes that were reserved.
  void Release(uint64_t bytes) { reserved_ -= bytes; }

  uint64_t limit() const { return limit_; }
  uint64_t reserved() const { return reserved_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> reserved_ = 0;  // atomic, because owners do not share a lock; never above limit_
};

// Two budgets for gradients that are not applied yet: one for the current step and one for the next (trainers are at
// most one step apart). If both steps shared one budget, gradients for the next step could fill it and keep the current
// step of any embedding from completing. Copies share the budgets. Thread-safe.
class StepBudgets {
 public:
  explicit StepBudgets(uint64_t limit_per_step)
      : budgets_{std::make_shared<ByteBudget>(limit_per_step), std::make_shared<ByteBudget>(limit_per_step)} {}

  const std::shared_ptr<ByteBudget>& ForStep(uint64_t step) const { return budgets_[step % budgets_.size()]; }

 private:
  std::array<std::shared_ptr<ByteBudget>, 2> budgets_;
};

}  // namespace espalier::shard
