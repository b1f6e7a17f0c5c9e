// A clock that only the test or the tested code advances.
#pragma once

#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier {

// Thread-safe. SleepFor advances the time and returns at once.
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
  // Advances the time without recording a sleep.
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
