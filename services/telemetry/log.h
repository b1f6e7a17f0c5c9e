// Structured logging: each line has a constant message and fields. Log once per phase, epoch or decision that changed
// something, never in loops over nodes.
//
//   Log(Level::kInfo, "partition loaded", {{"partition", p}, {"edges", m}});
//
// On a terminal:  05:12:31 INFO  partition loaded partition=1 edges=5278
// Elsewhere:      {"time":"2026-01-02T05:12:31.120Z","level":"info","role":"server","message":"partition loaded",...}
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "services/base/status.h"
#include "services/base/strong_id.h"

namespace espalier::telemetry {

enum class Level { kDebug, kInfo, kWarning, kError };
const char* ToString(Level level);  // "debug", "info", "warning", "error"

// A password, token or key. It is logged as ***; only Reveal returns the text.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& Reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

// The value of a field. The constructors are implicit, so that a list of fields reads like a table.
class FieldValue {
 public:
  using Variant = std::variant<bool, int64_t, uint64_t, double, std::string>;

  FieldValue(bool value) : value_(value) {}                           // NOLINT
  FieldValue(const char* value) : value_(std::string(value)) {}       // NOLINT
  FieldValue(std::string value) : value_(std::move(value)) {}         // NOLINT
  FieldValue(std::string_view value) : value_(std::string(value)) {}  // NOLINT
  FieldValue(const Secret&) : value_(std::string("***")) {}           // NOLINT
  FieldValue(const Status& status) : value_(status.ToString()) {}     // NOLINT
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) FieldValue(T value) {  // NOLINT
    if constexpr (std::is_signed_v<T>) {
      value_ = static_cast<int64_t>(value);
    } else {
      value_ = static_cast<uint64_t>(value);
    }
  }
  template <class T>
  requires std::is_floating_point_v<T> FieldValue(T value) : value_(static_cast<double>(value)) {}  // NOLINT
  template <class Tag, class Rep>
  FieldValue(StrongId<Tag, Rep> id) : FieldValue(id.value) {}  // NOLINT

  const Variant& variant() const { return value_; }

 private:
  Variant value_;
};

struct Field {
  std::string key;
  FieldValue value;
};

enum class LogFormat { kAuto, kText, kJson };  // kAuto: text on a terminal, JSON elsewhere
// Parses a value of --log-format: "auto", "text" or "json". InvalidArgument for other text.
Result<LogFormat> ParseLogFormat(std::string_view text);

struct LogOptions {
  LogFormat format = LogFormat::kAuto;
  Level level = Level::kInfo;         // lines of lower levels are dropped
  std::vector<Field> process_fields;  // on every line: {"role", "trainer"}, {"rank", 0}
};

// Sets the options of Log. Call it once, in main, before threads start. Without it, the defaults of LogOptions apply.
void InitializeLogging(LogOptions options);

// Writes one line to stderr and flushes it. Thread-safe; never fails. `message` is a constant; variable parts are
// fields.
void Log(Level level, const char* message, std::initializer_list<Field> fields = {});
void Log(Level level, const char* message, const std::vector<Field>& fields);

}  // namespace espalier::telemetry
