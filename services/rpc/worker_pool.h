// Threads for work that would block gRPC's own threads.
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
  // `queue_capacity` limits the number of queued entries, `max_waiting_bytes` the sum of their size_bytes.
  WorkerPool(int num_threads, size_t queue_capacity, size_t max_waiting_bytes = std::numeric_limits<size_t>::max());
  // Runs the queued work, then joins the threads.
  ~WorkerPool();

  // Queues `work`, which holds `size_bytes` of memory until it has run. Work starts in the order of submission. Returns
  // false if the queue has queue_capacity entries or would exceed max_waiting_bytes. An empty queue accepts work of any
  // size.
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
  const size_t max_waiting_bytes_;
  mutable Mutex mutex_;
  std::deque<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // sum over queue_
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: joins before the queue is destroyed
};

}  // namespace espalier::rpc
