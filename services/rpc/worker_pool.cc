#include "services/rpc/worker_pool.h"
#include "services/base/mutex.h"

#include <algorithm>
#include <utility>

namespace espalier::rpc {

WorkerPool::WorkerPool(int num_threads, size_t queue_capacity) : queue_capacity_(queue_capacity) {
  for (int i = 0; i < std::max(1, num_threads); ++i) threads_.emplace_back([this] { RunWorker(); });
}

WorkerPool::~WorkerPool() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  threads_.clear();
}

bool WorkerPool::TrySubmit(std::function<void()> work) {
  MutexLock lock(&mutex_);
  if (stopping_ || queue_.size() >= queue_capacity_) return false;
  queue_.push_back(std::move(work));
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
      mutex_.Await([this] { return HasWorkOrStops(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace espalier::rpc
