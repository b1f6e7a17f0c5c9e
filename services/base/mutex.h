// A mutex with thread-safety annotations (ABSL_GUARDED_BY, checked by Clang) and waits for conditions. It wraps
// std::mutex rather than absl::Mutex because Debian's abseil is not built for the thread sanitizer, which would then
// report false races.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "services/base/clock.h"

namespace espalier {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }

  // Unlocks and wakes all waiting threads, which check their conditions again. Notifies before unlocking, because a
  // thread that wakes up may destroy this object.
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    if (num_waiting_ > 0) {
      changed_.notify_all();
      if (changed_or_stop_ != nullptr) changed_or_stop_->notify_all();
    }
    mutex_.unlock();
  }

  // Blocks until the condition holds. Releases the lock while it waits; evaluates the condition with the lock held.
  template <class Condition>
  void Await(Condition condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    Waiting waiting(*this);
    changed_.wait(waiting.lock, condition);
  }

  // Like Await, but waits at most until the deadline passes or its stop is requested. Returns whether the condition
  // holds.
  template <class Condition>
  bool AwaitBefore(const Deadline& deadline, Condition condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    Waiting waiting(*this);
    if (!deadline.stop().stop_possible()) return changed_.wait_until(waiting.lock, deadline.time(), condition);
    if (changed_or_stop_ == nullptr) changed_or_stop_ = std::make_unique<std::condition_variable_any>();
    return changed_or_stop_->wait_until(waiting.lock, deadline.stop(), deadline.time(), condition);
  }

 private:
  struct Waiting {
    explicit Waiting(Mutex& m) : lock(m.mutex_, std::adopt_lock), mutex(m) { ++mutex.num_waiting_; }
    ~Waiting() {
      --mutex.num_waiting_;
      lock.release();  // the caller keeps the lock
    }
    std::unique_lock<std::mutex> lock;
    Mutex& mutex;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  // For waits with a stop token; slower than changed_. Null before the first such wait. Guarded by mutex_.
  std::unique_ptr<std::condition_variable_any> changed_or_stop_;
  int num_waiting_ = 0;  // guarded by mutex_
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace espalier
