// The job's incarnation as a process knows it.
#pragma once

#include <atomic>
#include <cstdint>

namespace espalier::client {

// Only grows. A trainer's is fixed; a sampler outlives its trainers and follows the newest one it has served.
// Thread-safe.
class Incarnation {
 public:
  explicit Incarnation(uint64_t first) : current_(first) {}

  uint64_t current() const { return current_.load(); }
  void RaiseTo(uint64_t seen) {
    uint64_t current = current_.load();
    while (seen > current && !current_.compare_exchange_weak(current, seen)) {
    }
  }

 private:
  std::atomic<uint64_t> current_;  // atomic, because requests read it while others raise it
};

}  // namespace espalier::client
