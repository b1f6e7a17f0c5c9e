// SIGTERM and SIGINT for a process whose work cannot always be asked to stop. METIS puts a handler of its own on
// SIGTERM that jumps out of wherever it is; here no handler ever runs: both signals are blocked in every thread, and
// one thread waits for them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "services/base/mutex.h"

namespace espalier::partitioner {

// One per process, made in main before any other thread. Thread-safe.
class StopWatcher {
 public:
  // After a signal the process has `grace` to end by itself; then it is ended with exit code 75, wherever it is. (METIS
  // cannot be asked to stop, and nothing is written while it works.) `before_the_end`, unless null, is called first,
  // while the other threads go on, and has the words.
  explicit StopWatcher(std::chrono::milliseconds grace, std::function<void()> before_the_end = nullptr);
  // No longer ends the process; does not return where a stop was requested and there is no grace.
  ~StopWatcher();

  bool requested() const { return requested_.load(); }

 private:
  void Watch();

  const std::chrono::milliseconds grace_;
  const std::function<void()> before_the_end_;
  std::atomic<bool> requested_{false};
  Mutex mutex_;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: joins before the rest goes away
};

}  // namespace espalier::partitioner
