// How many bytes several owners may hold together.
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

  // False where the limit leaves no room for so many: then nothing is taken.
  bool Take(uint64_t bytes) {
    uint64_t taken = taken_.load();
    do {
      if (bytes > limit_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    return true;
  }
  // Of what was taken.
  void Give(uint64_t bytes) { taken_ -= bytes; }

  uint64_t limit() const { return limit_; }
  uint64_t taken() const { return taken_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_ = 0;  // atomic, because owners do not share a lock; never above limit_
};

// What waits for a step and what waits for the next one: trainers are never further apart. Each has a budget to itself,
// so whether the gradients of a step fit does not depend on who is ahead, in other rows maybe. Copies are of the same
// two. Thread-safe.
class StepBudgets {
 public:
  explicit StepBudgets(uint64_t limit_of_step)
      : budgets_{std::make_shared<ByteBudget>(limit_of_step), std::make_shared<ByteBudget>(limit_of_step)} {}

  const std::shared_ptr<ByteBudget>& Of(uint64_t step) const { return budgets_[step % budgets_.size()]; }

 private:
  std::array<std::shared_ptr<ByteBudget>, 2> budgets_;
};

}  // namespace espalier::shard
