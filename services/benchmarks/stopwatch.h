// Seconds by the wall or by the calling thread's processor time: on a machine that others use too, only the latter
// says what the work costs.
#pragma once

#include <time.h>

namespace espalier::benchmarks {

enum class ClockKind { kWall, kThreadCpu };

class Stopwatch {
 public:
  explicit Stopwatch(ClockKind kind) : kind_(kind), start_(Now()) {}
  double Seconds() const { return Now() - start_; }

 private:
  double Now() const {
    timespec time{};
    clock_gettime(kind_ == ClockKind::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  ClockKind kind_;
  double start_;
};

}  // namespace espalier::benchmarks
