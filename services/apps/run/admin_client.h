// Asks a child's admin port, with a deadline.
#pragma once

#include <chrono>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::run {

// How long a child may take to answer GET /status.
inline constexpr std::chrono::milliseconds kStatusDeadline{500};

// The body of GET `path` at "127.0.0.1:41234", at most 1 MiB; Unavailable for anything but 200 in time.
Result<std::string> AdminGet(const std::string& address, const std::string& path, Deadline deadline);

}  // namespace espalier::run
