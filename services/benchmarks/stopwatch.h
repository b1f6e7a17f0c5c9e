// A stopwatch over wall time or over the CPU time of the calling thread. On a machine that is shared with other
// processes, only CPU time measures the cost of the work.
#pragma once

#include <time.h>

namespace espalier::benchmarks {

enum class ClockKind { kWall, kThreadCpu };

// Starts at construction. With kThreadCpu, Seconds() must be called on the thread that constructed it.
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
