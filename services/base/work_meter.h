// How much of a long piece of work is done: told by those who do it, read by whoever shows it.
#pragma once

#include <atomic>
#include <cstdint>

namespace espalier {

// Thread-safe. Counts bytes: of what is made, read or looked at.
class WorkMeter {
 public:
  // There is this much more to do than was known.
  void Expect(uint64_t bytes) { expected_.fetch_add(bytes, std::memory_order_relaxed); }
  // There is this much in all, as far as is known now.
  void ExpectInAll(uint64_t bytes) { expected_.store(bytes, std::memory_order_relaxed); }
  void Add(uint64_t bytes) { done_.fetch_add(bytes, std::memory_order_relaxed); }

  uint64_t expected_bytes() const { return expected_.load(std::memory_order_relaxed); }  // 0: nobody knows
  uint64_t done_bytes() const { return done_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> expected_ = 0;
  std::atomic<uint64_t> done_ = 0;
};

// For those whose meter may be null.
inline void AddExpected(WorkMeter* meter, uint64_t bytes) {
  if (meter != nullptr) meter->Expect(bytes);
}
inline void AddDone(WorkMeter* meter, uint64_t bytes) {
  if (meter != nullptr) meter->Add(bytes);
}

}  // namespace espalier
