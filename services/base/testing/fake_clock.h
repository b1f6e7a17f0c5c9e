// Time that passes only when a test, or what it tests, says so.
#pragma once

#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier {

// Thread-safe. SleepFor returns at once and moves the time.
class FakeClock final : public Clock {
 public:
  SteadyTime Now() override {
    MutexLock lock(&mutex_);
    return now_;
  }
  void SleepFor(std::chrono::nanoseconds duration) override {
    MutexLock lock(&mutex_);
    now_ += duration;
    slept_.push_back(duration);
  }
  // Without a sleep.
  void Advance(std::chrono::nanoseconds duration) {
    MutexLock lock(&mutex_);
    now_ += duration;
  }
  std::vector<std::chrono::nanoseconds> slept() {
    MutexLock lock(&mutex_);
    return slept_;
  }

 private:
  Mutex mutex_;
  SteadyTime now_ ABSL_GUARDED_BY(mutex_) = SteadyTime(std::chrono::hours(1000));
  std::vector<std::chrono::nanoseconds> slept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier
