// Times in the formats of S3, its signatures and credentials, in UTC and independent of the process's locale.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::storage {

using WallTime = std::chrono::sys_seconds;
// A function that returns the current time; tests pass their own. Thread-safe.
using WallClock = std::function<WallTime()>;
// Returns the time of the system's clock.
WallTime SystemTime();

// Returns the time in the format of signatures: "20150830T123600Z".
std::string FormatBasicUtc(WallTime time);
// Parses the expiry of credentials: "2015-08-30T12:36:00Z". A fraction of a second is ignored. nullopt for other text.
std::optional<WallTime> ParseExtendedUtc(std::string_view text);
// Parses the Date header of a response: "Sun, 06 Nov 1994 08:49:37 GMT". nullopt for other text.
std::optional<WallTime> ParseHttpDate(std::string_view text);

}  // namespace espalier::storage
