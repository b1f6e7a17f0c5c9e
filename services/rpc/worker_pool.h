// Threads for work that gRPC's own threads must not block on.
#pragma once
#include "services/base/mutex.h"

#include <deque>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

namespace espalier::rpc {

// A fixed number of threads and a bounded queue. Thread-safe.
class WorkerPool {
 public:
  // `most_waiting_bytes`: of what waits in the queue, as TrySubmit is told.
  WorkerPool(int num_threads, size_t queue_capacity, size_t most_waiting_bytes = std::numeric_limits<size_t>::max());
  // Runs what is queued, then joins.
  ~WorkerPool();

  // Runs `work`, which holds so many bytes until then, on one of the threads, in the order of submission. False when
  // the queue is full; with an empty queue work is taken whatever it holds.
  [[nodiscard]] bool TrySubmit(std::function<void()> work, size_t size_bytes = 0) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t QueueLength() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    std::function<void()> work;
    size_t size_bytes = 0;
  };

  bool HasRoomFor(size_t size_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunWorker() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); }

  const size_t queue_capacity_;
  const size_t most_waiting_bytes_;
  mutable Mutex mutex_;
  std::deque<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of all in queue_
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: joins before the queue goes away
};

}  // namespace espalier::rpc
