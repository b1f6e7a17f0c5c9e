// Time as a dependency: what waits takes a Clock, so that tests use a FakeClock (base/testing/fake_clock.h)
// and nothing sleeps to synchronise. This is the only place that calls sleep_for.
#pragma once

#include <algorithm>
#include <chrono>

namespace espalier {

using SteadyTime = std::chrono::steady_clock::time_point;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime Now() = 0;
  virtual void SleepFor(std::chrono::nanoseconds duration) = 0;

  static Clock& Real();
};

// The moment by which a call must have ended. Passed down by value, so that nested calls share one budget.
class Deadline {
 public:
  static Deadline After(std::chrono::nanoseconds duration, Clock& clock = Clock::Real()) {
    return Deadline(clock.Now() + duration);
  }
  static Deadline At(SteadyTime time) { return Deadline(time); }

  SteadyTime time() const { return time_; }
  // Zero once it has passed, never negative.
  std::chrono::nanoseconds Remaining(Clock& clock = Clock::Real()) const {
    return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(time_ - clock.Now()));
  }
  bool HasPassed(Clock& clock = Clock::Real()) const { return clock.Now() >= time_; }
  // The nearer of this and `duration` from now.
  Deadline AtMost(std::chrono::nanoseconds duration, Clock& clock = Clock::Real()) const {
    return Deadline(std::min(time_, clock.Now() + duration));
  }

 private:
  explicit Deadline(SteadyTime time) : time_(time) {}
  SteadyTime time_;
};

// Seconds since construction.
class Timer {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  SteadyTime start_ = std::chrono::steady_clock::now();
};

}  // namespace espalier
