// One line of a container's log, as the kubelet sends it: "2026-01-02T03:04:05.123456789Z text".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operator/kube/time.h"

namespace espalier::ctl::logs {

struct LogLine {
  std::optional<kube::WallTime> time;  // nullopt: a message of the kubelet itself
  std::string text;
  friend bool operator==(const LogLine&, const LogLine&) = default;
};

// Returns the line's time and text. Without a valid time at its beginning, the whole line is the text.
LogLine ParseLogLine(std::string_view line);

}  // namespace espalier::ctl::logs
