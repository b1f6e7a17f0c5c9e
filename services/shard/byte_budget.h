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

  // Reserves `bytes` and returns true, or returns false and reserves nothing if they exceed the limit.
  bool Take(uint64_t bytes) {
    uint64_t taken = taken_.load();
    do {
      if (bytes > limit_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    return true;
  }
  // Releases bytes that were reserved.
  void Give(uint64_t bytes) { taken_ -= bytes; }

  uint64_t limit() const { return limit_; }
  uint64_t taken() const { return taken_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_ = 0;  // atomic, because owners do not share a lock; never above limit_
};

// Budgets for the gradients that wait for the current step and for the next one; trainers are never further apart. Each
// step has its own budget, so whether its gradients fit does not depend on gradients sent ahead for the next step,
// possibly for other rows. Copies share the two budgets. Thread-safe.
class StepBudgets {
 public:
  explicit StepBudgets(uint64_t limit_of_step)
      : budgets_{std::make_shared<ByteBudget>(limit_of_step), std::make_shared<ByteBudget>(limit_of_step)} {}

  const std::shared_ptr<ByteBudget>& Of(uint64_t step) const { return budgets_[step % budgets_.size()]; }

 private:
  std::array<std::shared_ptr<ByteBudget>, 2> budgets_;
};

}  // namespace espalier::shard
