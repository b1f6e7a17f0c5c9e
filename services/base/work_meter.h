// Progress of a long operation, updated by the code that does the work and read by the code that displays it.
#pragma once

#include <atomic>
#include <cstdint>

namespace espalier {

// Counts the bytes that have been written, read or examined. Thread-safe.
class WorkMeter {
 public:
  // Adds `bytes` to the expected total.
  void Expect(uint64_t bytes) { expected_.fetch_add(bytes, std::memory_order_relaxed); }
  // Sets the expected total to `bytes`, the best estimate so far.
  void SetExpected(uint64_t bytes) { expected_.store(bytes, std::memory_order_relaxed); }
  // Adds `bytes` to the work done.
  void Add(uint64_t bytes) { done_.fetch_add(bytes, std::memory_order_relaxed); }

  uint64_t expected_bytes() const { return expected_.load(std::memory_order_relaxed); }  // 0 if unknown
  uint64_t done_bytes() const { return done_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> expected_ = 0;
  std::atomic<uint64_t> done_ = 0;
};

// Expect and Add for callers whose meter may be null.
inline void AddExpected(WorkMeter* meter, uint64_t bytes) {
  if (meter != nullptr) meter->Expect(bytes);
}
inline void AddDone(WorkMeter* meter, uint64_t bytes) {
  if (meter != nullptr) meter->Add(bytes);
}

}  // namespace espalier
