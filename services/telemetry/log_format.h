// How a log line looks, as pure functions.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "services/telemetry/log.h"

namespace espalier::telemetry {

struct LogRecord {
  std::chrono::system_clock::time_point time;
  Level level = Level::kInfo;
  std::string_view message;
  std::span<const Field> process_fields;
  std::span<const Field> fields;  // a key repeated here replaces the process field
};

// One line of JSON without the line feed: time (UTC, ms), level, message, then fields. Bytes that are no UTF-8
// are replaced; doubles that JSON cannot say become strings.
std::string FormatJson(const LogRecord& record);

// One readable line: control characters are escaped, so that a field cannot fake a second line.
std::string FormatText(const LogRecord& record);

}  // namespace espalier::telemetry
