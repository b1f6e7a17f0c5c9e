#include "services/telemetry/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "services/base/mutex.h"
#include "services/telemetry/log_format.h"

namespace espalier::telemetry {
namespace {

// Lines are formatted here and written by spdlog, whose pattern is therefore only the message.
std::shared_ptr<spdlog::logger> MakeLogger() {
  auto logger = std::make_shared<spdlog::logger>("espalier", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
  return logger;
}

bool IsJson(LogFormat format) {
  switch (format) {
    case LogFormat::kText: return false;
    case LogFormat::kJson: return true;
    case LogFormat::kAuto: return isatty(STDERR_FILENO) == 0;
  }
  return true;
}

struct LogState {
  std::shared_ptr<spdlog::logger> logger = MakeLogger();  // never changes; thread-safe
  Mutex mutex;
  bool json ABSL_GUARDED_BY(mutex) = IsJson(LogFormat::kAuto);
  Level level ABSL_GUARDED_BY(mutex) = Level::kInfo;
  std::vector<Field> process_fields ABSL_GUARDED_BY(mutex);
};

// Never destroyed, because threads may log while the process exits.
LogState& State() {
  static LogState* const state = new LogState;
  return *state;
}

spdlog::level::level_enum ToSpdlogLevel(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarning: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

void WriteLine(Level level, const char* message, std::span<const Field> fields) {
  LogState& state = State();
  std::string line;
  {
    MutexLock lock(&state.mutex);
    if (level < state.level) return;
    const LogRecord record{std::chrono::system_clock::now(), level, message, state.process_fields, fields};
    line = state.json ? FormatJson(record) : FormatText(record);
  }
  state.logger->log(ToSpdlogLevel(level), spdlog::string_view_t(line));
}

}  // namespace

const char* ToString(Level level) {
  switch (level) {
    case Level::kDebug: return "debug";
    case Level::kInfo: return "info";
    case Level::kWarning: return "warning";
    case Level::kError: return "error";
  }
  return "error";
}

Result<LogFormat> ParseLogFormat(std::string_view text) {
  if (text == "auto") return LogFormat::kAuto;
  if (text == "text") return LogFormat::kText;
  if (text == "json") return LogFormat::kJson;
  return InvalidArgument("log format '" + std::string(text) + "': expected auto, text or json");
}

void InitializeLogging(LogOptions options) {
  LogState& state = State();
  MutexLock lock(&state.mutex);
  state.json = IsJson(options.format);
  state.level = options.level;
  state.process_fields = std::move(options.process_fields);
}

void Log(Level level, const char* message, std::initializer_list<Field> fields) {
  WriteLine(level, message, {fields.begin(), fields.size()});
}

void Log(Level level, const char* message, const std::vector<Field>& fields) { WriteLine(level, message, fields); }

}  // namespace espalier::telemetry
