// Structured log: a constant message and fields. One line per phase, epoch or decision that changed something;
// never inside loops over nodes.
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

// Passwords, tokens, keys. Prints as ***; Reveal is the only way to the text.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& Reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

// What a field may hold. Implicit, so that fields read as a table.
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
// "auto", "text" or "json": what --log-format takes. InvalidArgument for others.
Result<LogFormat> ParseLogFormat(std::string_view text);

struct LogOptions {
  LogFormat format = LogFormat::kAuto;
  Level level = Level::kInfo;         // what is below is dropped
  std::vector<Field> process_fields;  // on every line: {"role", "trainer"}, {"rank", 0}
};

// Once, in main, before threads. Without it: kAuto, kInfo, no process fields.
void InitializeLogging(LogOptions options);

// One line on stderr, flushed. Thread-safe; never fails. `message` is a constant: what varies is a field.
void Log(Level level, const char* message, std::initializer_list<Field> fields = {});
void Log(Level level, const char* message, const std::vector<Field>& fields);

}  // namespace espalier::telemetry
