// Moments as the protocols spell them, in UTC and without the process's locale.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::storage {

using WallTime = std::chrono::sys_seconds;
// The time of day; tests give their own. Thread-safe.
using WallClock = std::function<WallTime()>;
WallTime SystemTime();

// "20150830T123600Z": signatures.
std::string BasicUtc(WallTime time);
// "2015-08-30T12:36:00Z", with or without a fraction of a second, which is dropped: expiry of credentials.
std::optional<WallTime> ParseExtendedUtc(std::string_view text);
// "Sun, 06 Nov 1994 08:49:37 GMT": an answer's Date header.
std::optional<WallTime> ParseHttpDate(std::string_view text);

}  // namespace espalier::storage
