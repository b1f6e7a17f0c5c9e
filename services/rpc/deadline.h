// Conversion between Deadline, on the steady clock, and gRPC's deadlines, on the system clock. Both have the same
// remaining time.
#pragma once

#include <chrono>

#include "services/base/clock.h"

namespace espalier::rpc {

// A deadline that is further away than this is replaced by one that is this far away, so that "no deadline" does not
// overflow.
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
