// Time as a dependency: classes whose delays and timeouts are tested take a Clock, so that tests can pass a FakeClock
// (base/testing/fake_clock.h) instead of sleeping. Only Clock::Real() calls sleep_for.
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

  // Returns the clock of the system. It lives as long as the process.
  static Clock& Real();
};

// The time by which a call must end, and optionally a stop token that ends it earlier. Passed down by value, so that
// nested calls share one time budget.
class Deadline {
 public:
  static Deadline After(std::chrono::nanoseconds duration, Clock& clock = Clock::Real()) {
    return Deadline(clock.Now()).Plus(duration);
  }
  // Returns a deadline that never passes. Calls with it end early only on a stop request.
  static Deadline Never() { return Deadline(SteadyTime::max()); }
  static Deadline At(SteadyTime time) { return Deadline(time); }

  SteadyTime time() const { return time_; }
  // Returns the time left: zero once the deadline has passed, never negative.
  std::chrono::nanoseconds Remaining(Clock& clock = Clock::Real()) const {
    return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(time_ - clock.Now()));
  }
  bool HasPassed(Clock& clock = Clock::Real()) const { return clock.Now() >= time_; }
  // Returns the earlier of this deadline and `duration` from now, with this deadline's stop token.
  Deadline AtMost(std::chrono::nanoseconds duration, Clock& clock = Clock::Real()) const {
    return Deadline(std::min(time_, After(duration, clock).time_), stop_);
  }
  // Returns the deadline `duration` (>= 0) after this one, with the same stop token. A time that the clock cannot
  // represent becomes that of Never().
  Deadline Plus(std::chrono::nanoseconds duration) const {
    const bool fits = duration < SteadyTime::max() - std::max(time_, SteadyTime());
    return Deadline(fits ? time_ + duration : SteadyTime::max(), stop_);
  }
  Deadline WithoutStop() const { return Deadline(time_); }

  // Returns this deadline with `stop` in place of its stop token. RPCs with the returned deadline end with CANCELLED
  // when `stop` is requested, whether they are pending or start later.
  Deadline OrStop(std::stop_token stop) const { return Deadline(time_, std::move(stop)); }
  // Returns the token passed to OrStop, or a token that is never signaled.
  const std::stop_token& stop() const { return stop_; }

 private:
  explicit Deadline(SteadyTime time, std::stop_token stop = {}) : time_(time), stop_(std::move(stop)) {}
  SteadyTime time_;
  std::stop_token stop_;
};

// Measures the seconds since its construction.
class Timer {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  SteadyTime start_ = std::chrono::steady_clock::now();
};

}  // namespace espalier
