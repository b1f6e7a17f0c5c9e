// Formats and parses times in the format of Kubernetes: UTC, RFC 3339.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::ctl::kube {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// Returns the time of the machine's clock. Code whose decisions depend on the time takes a clock function or a time as
// an argument instead.
WallTime SystemTime();

// RFC 3339 has the years 0 to 9999. A time before or after them is printed as the first or last time of these years.
std::string FormatTime(WallTime time);       // metav1.Time: "2026-01-02T03:04:05Z"
std::string FormatMicroTime(WallTime time);  // metav1.MicroTime: "2026-01-02T03:04:05.000006Z"
// Parses both formats, also with an offset such as "+01:00" and with any number of digits in the fraction: those beyond
// microseconds are dropped. Returns InvalidArgument for any other text.
Result<WallTime> ParseTime(std::string_view text);

}  // namespace espalier::ctl::kube
