// A mutex that says what it guards (ABSL_GUARDED_BY; Clang checks it) and what a thread waits for. Over
// std::mutex rather than absl::Mutex, because Debian's abseil is not built for the thread sanitizer, which then
// sees races where there are none.
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

  // Wakes everybody whose condition may have become true. (Before unlocking: who waits may destroy this object.)
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    if (num_waiting_ > 0) {
      changed_.notify_all();
      if (changed_or_stop_ != nullptr) changed_or_stop_->notify_all();
    }
    mutex_.unlock();
  }

  // Waits, unlocked meanwhile, until the condition holds. Called with the lock held, as the condition is.
  template <class Condition>
  void Await(Condition condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    Waiting waiting(*this);
    changed_.wait(waiting.lock, condition);
  }

  // The same until the deadline, or until its stop is requested; returns whether the condition holds.
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
      lock.release();  // the caller goes on holding it
    }
    std::unique_lock<std::mutex> lock;
    Mutex& mutex;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::unique_ptr<std::condition_variable_any> changed_or_stop_;  // null until a wait has a stop: it is slower
  int num_waiting_ = 0;
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
