// Times as Kubernetes writes them: UTC, RFC 3339.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::ctl::kube {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

WallTime SystemTime();  // the machine's clock; what decides by the time takes it as a function or a value

// RFC 3339 has the years 0 to 9999; times outside print as the nearest inside.
std::string FormatTime(WallTime time);       // metav1.Time: "2026-01-02T03:04:05Z"
std::string FormatMicroTime(WallTime time);  // metav1.MicroTime: "2026-01-02T03:04:05.000006Z"
// Both, and offsets ("+01:00"). InvalidArgument for anything else.
Result<WallTime> ParseTime(std::string_view text);

}  // namespace espalier::ctl::kube
