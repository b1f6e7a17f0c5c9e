// Threads for work that gRPC's own threads must not block on.
#pragma once
#include "services/base/mutex.h"

#include <deque>
#include <functional>
#include <thread>
#include <vector>

namespace espalier::rpc {

// A fixed number of threads and a bounded queue. Thread-safe.
class WorkerPool {
 public:
  WorkerPool(int num_threads, size_t queue_capacity);
  // Runs what is queued, then joins.
  ~WorkerPool();

  // Runs `work` on one of the threads, in the order of submission. False when the queue is full.
  [[nodiscard]] bool TrySubmit(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t QueueLength() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void RunWorker() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); }

  const size_t queue_capacity_;
  mutable Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: joins before the queue goes away
};

}  // namespace espalier::rpc
