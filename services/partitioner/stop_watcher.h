// Handles SIGTERM and SIGINT in a process whose work cannot always be interrupted. No signal handler runs: both signals
// are blocked in every thread, and one thread waits for them. METIS installs its own handler for SIGTERM, which leaves
// the computation with longjmp; because the signal is blocked, that handler never runs.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "services/base/mutex.h"

namespace espalier::partitioner {

// Create one per process, before any other thread starts, so that all threads inherit the signal mask. Thread-safe.
class StopWatcher {
 public:
  // Starts the watching thread. After a signal, the process has `grace` to exit by itself; then the watching thread
  // calls `before_exit`, unless it is null, while the other threads keep running, and ends the process with exit code
  // 75. This is how METIS is stopped: it cannot be interrupted, and no files are written while it runs. If
  // `before_exit` is not null, the watcher does not log the signal.
  explicit StopWatcher(std::chrono::milliseconds grace, std::function<void()> before_exit = nullptr);
  // Stops watching. Does not return if a stop was requested and `grace` is 0: the process then ends with exit code 75.
  ~StopWatcher();

  // Returns whether a signal has arrived.
  bool requested() const { return requested_.load(); }

 private:
  void Watch();

  const std::chrono::milliseconds grace_;
  const std::function<void()> before_exit_;
  std::atomic<bool> requested_{false};
  Mutex mutex_;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last member: joined before the other members are destroyed
};

}  // namespace espalier::partitioner
