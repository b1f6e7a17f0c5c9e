// A first-in first-out queue of limited capacity between two stages of a pipeline.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier {

// Push blocks while the queue is full, Pop while it is empty. After Close, Push returns false and Pop returns the
// remaining items, then nullopt. Thread-safe.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Appends `item` and returns true, or drops it and returns false if the queue is closed.
  bool Push(T item) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasRoomOrClosed(); });
    if (closed_) return false;
    items_.push_back(std::move(item));
    return true;
  }

  // Removes and returns the oldest item; nullopt once the queue is closed and drained.
  std::optional<T> Pop() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasItemOrClosed(); });
    return TakeFront();
  }

  // Like Pop, but also returns nullopt when the deadline passes first; IsClosed distinguishes the two cases.
  std::optional<T> PopBefore(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasItemOrClosed(); });
    return TakeFront();
  }

  // Blocks until the queue is empty or closed.
  void AwaitEmpty() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || items_.empty(); });
  }

  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    closed_ = true;
  }

  bool IsClosed() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return closed_;
  }

  size_t Size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return items_.size();
  }

 private:
  bool HasRoomOrClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || items_.size() < capacity_; }
  bool HasItemOrClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !items_.empty(); }
  std::optional<T> TakeFront() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  const size_t capacity_;
  mutable Mutex mutex_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace espalier
