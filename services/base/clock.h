// Time as a dependency: what waits takes a Clock, so that tests use a FakeClock (base/testing/fake_clock.h)
// and nothing sleeps to synchronise. This is the only place that calls sleep_for.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

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

// The time by which a call must have ended, and optionally a request to end it earlier. Passed down by value, so that
// nested calls share one budget.
class Deadline {
 public:
  static Deadline After(std::chrono::nanoseconds duration, Clock& clock = Clock::Real()) {
    return Deadline(clock.Now()).Plus(duration);
  }
  // Never passes: for calls that only a stop ends early.
  static Deadline Never() { return Deadline(SteadyTime::max()); }
  static Deadline At(SteadyTime time) { return Deadline(time); }

  SteadyTime time() const { return time_; }
  // Zero once it has passed, never negative.
  std::chrono::nanoseconds Remaining(Clock& clock = Clock::Real()) const {
    return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(time_ - clock.Now()));
  }
  bool HasPassed(Clock& clock = Clock::Real()) const { return clock.Now() >= time_; }
  // The earlier of this and `duration` from now, with the stop of this.
  Deadline AtMost(std::chrono::nanoseconds duration, Clock& clock = Clock::Real()) const {
    return Deadline(std::min(time_, After(duration, clock).time_), stop_);
  }
  // `duration`, at least 0, later, with the stop of this; Never() if that is too far away for a clock.
  Deadline Plus(std::chrono::nanoseconds duration) const {
    const bool fits = duration < SteadyTime::max() - std::max(time_, SteadyTime());
    return Deadline(fits ? time_ + duration : SteadyTime::max(), stop_);
  }
  Deadline WithoutStop() const { return Deadline(time_); }

  // The same time; calls to servers that are pending with this deadline, or start later, also end when `stop` is
  // requested, with CANCELLED. Replaces an earlier stop.
  Deadline OrStop(std::stop_token stop) const { return Deadline(time_, std::move(stop)); }
  // The token given to OrStop; without one it never requests a stop.
  const std::stop_token& stop() const { return stop_; }

 private:
  explicit Deadline(SteadyTime time, std::stop_token stop = {}) : time_(time), stop_(std::move(stop)) {}
  SteadyTime time_;
  std::stop_token stop_;
};

// Seconds since construction.
class Timer {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  SteadyTime start_ = std::chrono::steady_clock::now();
};

}  // namespace espalier
