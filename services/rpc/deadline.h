// Conversion of deadlines between the steady clock of Deadline and the system clock of gRPC, by the remaining time.
#pragma once

#include <chrono>

#include "services/base/clock.h"

namespace espalier::rpc {

// Later deadlines are shortened to a year, so that "no deadline" does not overflow.
inline constexpr std::chrono::hours kMaxTimeUntilDeadline{24 * 365};

inline std::chrono::system_clock::time_point ToSystemTime(Deadline deadline) {
  const std::chrono::nanoseconds remaining = deadline.AtMost(kMaxTimeUntilDeadline).Remaining();
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(remaining);
}

inline Deadline FromSystemTime(std::chrono::system_clock::time_point time) {
  const auto now = std::chrono::system_clock::now();
  if (time >= now + kMaxTimeUntilDeadline) return Deadline::After(kMaxTimeUntilDeadline);
  return Deadline::After(time - now);
}

}  // namespace espalier::rpc
