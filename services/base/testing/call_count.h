// A counter that tests wait for.
#pragma once

#include "services/base/mutex.h"
#include "services/base/testing/soon.h"

namespace espalier {

// Thread-safe.
class CallCount {
 public:
  void Increment() {
    MutexLock lock(&mutex_);
    ++value_;
  }
  int value() const {
    MutexLock lock(&mutex_);
    return value_;
  }
  // Blocks until the count is at least `count` and returns true; returns false if the deadline Soon() passes first.
  bool Reaches(int count) {
    MutexLock lock(&mutex_);
    return mutex_.AwaitBefore(Soon(),
                              [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return value_ >= count; });
  }

 private:
  mutable Mutex mutex_;
  int value_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier
