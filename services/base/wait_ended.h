// The error of a wait that ended before its condition held.
#pragma once

#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier {

// Returns Cancelled if the deadline's stop was requested, otherwise DeadlineExceeded with the message `what`.
inline Status WaitEnded(const Deadline& deadline, const std::string& what) {
  return deadline.stop().stop_requested() ? Cancelled("the call was cancelled") : DeadlineExceeded(what);
}

}  // namespace espalier
