// A field of the line replaces a process field with the same key: FormatJson assigns the key again, which keeps the
// place of the process field; FormatText omits the process field.
#include "services/telemetry/log_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "services/base/format_number.h"

namespace espalier::telemetry {
namespace {

using std::chrono::milliseconds;

struct BrokenDownTime {
  std::tm utc{};
  int millisecond = 0;
};

BrokenDownTime ToUtc(std::chrono::system_clock::time_point time) {
  const auto since_epoch = std::chrono::floor<milliseconds>(time).time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const std::time_t clock_seconds = seconds.count();
  BrokenDownTime result;
  gmtime_r(&clock_seconds, &result.utc);
  result.millisecond = static_cast<int>((since_epoch - seconds).count());
  return result;
}

std::string FormatTime(const BrokenDownTime& time, const char* pattern) {
  std::array<char, 64> text{};
  const size_t length = std::strftime(text.data(), text.size(), pattern, &time.utc);
  return {text.data(), length};
}

std::string FormatDouble(double value) { return FormatSignificant(value, 6); }

nlohmann::ordered_json ToJson(const FieldValue& field) {
  return std::visit(
      [](const auto& value) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
          if (!std::isfinite(value)) return FormatDouble(value);
        }
        return value;
      },
      field.variant());
}

bool IsOverridden(const Field& process_field, std::span<const Field> fields) {
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) { return field.key == process_field.key; });
}

std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      escaped += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> hex{};
      std::snprintf(hex.data(), hex.size(), "\\x%02x", byte);
      escaped += hex.data();
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string ToText(const FieldValue& field) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          const std::string escaped = Escape(value);
          return escaped.empty() || escaped.find(' ') != std::string::npos ? '"' + escaped + '"' : escaped;
        } else if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_same_v<T, double>) {
          return FormatDouble(value);
        } else {
          return std::to_string(value);
        }
      },
      field.variant());
}

const char* PadName(Level level) {
  switch (level) {
    case Level::kDebug: return "DEBUG";
    case Level::kInfo: return "INFO ";
    case Level::kWarning: return "WARN ";
    case Level::kError: return "ERROR";
  }
  return "ERROR";
}

}  // namespace

std::string FormatJson(const LogRecord& record) {
  const BrokenDownTime time = ToUtc(record.time);
  std::array<char, 8> millisecond{};
  std::snprintf(millisecond.data(), millisecond.size(), ".%03dZ", time.millisecond);
  nlohmann::ordered_json line;
  line["time"] = FormatTime(time, "%Y-%m-%dT%H:%M:%S") + millisecond.data();
  line["level"] = ToString(record.level);
  for (const Field& field : record.process_fields) line[field.key] = ToJson(field.value);
  line["message"] = record.message;
  for (const Field& field : record.fields) line[field.key] = ToJson(field.value);
  return line.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string FormatText(const LogRecord& record) {
  std::string line = FormatTime(ToUtc(record.time), "%H:%M:%S");
  line += ' ';
  line += PadName(record.level);
  line += ' ';
  line += Escape(record.message);
  const auto append = [&line](const Field& field) {
    line += ' ';
    line += Escape(field.key);
    line += '=';
    line += ToText(field.value);
  };
  for (const Field& field : record.process_fields) {
    if (!IsOverridden(field, record.fields)) append(field);
  }
  for (const Field& field : record.fields) append(field);
  return line;
}

}  // namespace espalier::telemetry
