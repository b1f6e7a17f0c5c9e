// The formats of log lines, as pure functions.
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
  std::span<const Field> fields;  // replace process fields of the same key
};

// Returns one line of JSON without a line feed: time (UTC, ms), level, process fields, message, fields. Invalid
// UTF-8 is replaced. Doubles that JSON cannot represent become strings.
std::string FormatJson(const LogRecord& record);

// Returns one line of readable text. Control characters are escaped, so that a field cannot forge a second line.
std::string FormatText(const LogRecord& record);

}  // namespace espalier::telemetry
