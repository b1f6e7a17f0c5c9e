// Newest incarnation of the job that this process has seen.
#pragma once

#include <atomic>
#include <cstdint>

namespace espalier::client {

// The value never decreases. In a trainer it is constant. A sampler process outlives trainers and raises it to the
// newest incarnation of the trainers that it has served. Thread-safe.
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
  std::atomic<uint64_t> current_;  // atomic: read and raised by concurrent requests
};

}  // namespace espalier::client
