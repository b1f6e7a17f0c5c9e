// The error of a wait that has ended before its condition held.
#pragma once

#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier {

// Cancelled if the deadline's stop was requested, otherwise DeadlineExceeded(what).
inline Status WaitEnded(const Deadline& deadline, const std::string& what) {
  return deadline.stop().stop_requested() ? Cancelled("the call was cancelled") : DeadlineExceeded(what);
}

}  // namespace espalier
