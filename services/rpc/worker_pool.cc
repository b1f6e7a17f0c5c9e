#include "services/rpc/worker_pool.h"

#include <algorithm>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/start_threads.h"

namespace espalier::rpc {

WorkerPool::WorkerPool(int num_threads, size_t queue_capacity, size_t max_waiting_bytes)
    : queue_capacity_(queue_capacity), max_waiting_bytes_(max_waiting_bytes) {
  StartThreads(
      threads_, num_threads, [this] { RunWorker(); },
      [this] {
        MutexLock lock(&mutex_);
        stopping_ = true;
      });
}

WorkerPool::~WorkerPool() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  threads_.clear();
}

bool WorkerPool::HasRoomFor(size_t size_bytes) const {
  if (queue_.size() >= queue_capacity_) return false;
  return queue_.empty() || size_bytes <= max_waiting_bytes_ - std::min(max_waiting_bytes_, waiting_bytes_);
}

bool WorkerPool::TrySubmit(std::function<void()> work, size_t size_bytes) {
  MutexLock lock(&mutex_);
  if (stopping_ || !HasRoomFor(size_bytes)) return false;
  queue_.push_back({std::move(work), size_bytes});
  waiting_bytes_ += size_bytes;
  return true;
}

size_t WorkerPool::QueueLength() const {
  MutexLock lock(&mutex_);
  return queue_.size();
}

void WorkerPool::RunWorker() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasWorkOrStops(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front().work);
      waiting_bytes_ -= queue_.front().size_bytes;
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace espalier::rpc
