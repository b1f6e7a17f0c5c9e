// A table maps names to armed failpoints and counts their hits. While no failpoint is armed, Failpoint() only
// reads failpoints_armed and does not lock the table.
#include "services/base/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "services/base/clock.h"
#include "services/base/hash.h"
#include "services/base/mutex.h"
#include "services/base/parse_number.h"

namespace espalier {
namespace {

enum class Action { kCrash, kDelay, kError };

struct Point {
  Action action = Action::kCrash;
  std::chrono::milliseconds delay{0};
  StatusCode code = StatusCode::kUnavailable;
  std::optional<uint64_t> only_hit;
  std::optional<uint64_t> percent;
  uint64_t hits = 0;
};

struct Table {
  Mutex mutex;
  std::map<std::string, Point, std::less<>> points ABSL_GUARDED_BY(mutex);
};

Table& GetTable() {
  static Table* table = new Table;  // never destroyed: threads may pass failpoints until the process exits
  return *table;
}

Result<uint64_t> ParseCount(std::string_view text, const std::string& entry) {
  const std::optional<uint64_t> count = ParseNumber<uint64_t>(text);
  if (!count) return InvalidArgument("failpoint '" + entry + "': '" + std::string(text) + "' is not a number");
  return *count;
}

std::optional<StatusCode> FindStatusCode(std::string_view name) {
  for (int code = 1; code <= static_cast<int>(StatusCode::kUnauthenticated); ++code) {
    if (name == StatusCodeName(static_cast<StatusCode>(code))) return static_cast<StatusCode>(code);
  }
  return std::nullopt;
}

Status ParseAction(std::string_view action, const std::string& entry, Point* point) {
  if (action == "crash") return Status();
  if (action.starts_with("delay:") && action.ends_with("ms")) {
    ASSIGN_OR_RETURN(const uint64_t count, ParseCount(action.substr(6, action.size() - 8), entry));
    point->action = Action::kDelay;
    point->delay = std::chrono::milliseconds(count);
    return Status();
  }
  if (action.starts_with("error:")) {
    const std::optional<StatusCode> code = FindStatusCode(action.substr(6));
    if (!code.has_value())
      return InvalidArgument("failpoint '" + entry + "': unknown status code, expected one like UNAVAILABLE");
    point->action = Action::kError;
    point->code = *code;
    return Status();
  }
  return InvalidArgument("failpoint '" + entry + "': expected crash, delay:<n>ms or error:<STATUS_CODE>");
}

Status ParseEntry(const std::string& entry, std::map<std::string, Point, std::less<>>* points) {
  const size_t equals = entry.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return InvalidArgument("failpoint '" + entry + "': expected name=action[@N][%P]");
  }
  Point point;
  std::string_view rest = std::string_view(entry).substr(equals + 1);
  if (const size_t mark = rest.find('%'); mark != std::string_view::npos) {
    ASSIGN_OR_RETURN(point.percent, ParseCount(rest.substr(mark + 1), entry));
    rest = rest.substr(0, mark);
  }
  if (const size_t mark = rest.find('@'); mark != std::string_view::npos) {
    ASSIGN_OR_RETURN(point.only_hit, ParseCount(rest.substr(mark + 1), entry));
    rest = rest.substr(0, mark);
  }
  RETURN_IF_ERROR(ParseAction(rest, entry, &point));
  (*points)[entry.substr(0, equals)] = point;
  return Status();
}

bool IsDue(std::string_view name, const Point& point) {
  if (point.only_hit.has_value()) return point.hits == *point.only_hit;
  if (point.percent.has_value()) return HashCombine(Hash64(name), point.hits) % 100 < *point.percent;
  return true;
}

}  // namespace

std::atomic<bool> internal::failpoints_armed{false};

Status internal::HitFailpoint(std::string_view name) {
  Point due;
  {
    Table& table = GetTable();
    MutexLock lock(&table.mutex);
    const auto found = table.points.find(name);
    if (found == table.points.end()) return Status();
    ++found->second.hits;
    if (!IsDue(name, found->second)) return Status();
    due = found->second;
  }
  switch (due.action) {
    case Action::kCrash:
      kill(getpid(), SIGKILL);
      pause();
      break;
    case Action::kDelay: Clock::Real().SleepFor(due.delay); break;
    case Action::kError: return Status(due.code, "failpoint " + std::string(name));
  }
  return Status();
}

Status ArmFailpoints(const std::string& text) {
  std::map<std::string, Point, std::less<>> points;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    if (end > begin) RETURN_IF_ERROR(ParseEntry(text.substr(begin, end - begin), &points));
    begin = end + 1;
  }
  Table& table = GetTable();
  MutexLock lock(&table.mutex);
  table.points = std::move(points);
  internal::failpoints_armed.store(!table.points.empty());
  return Status();
}

Status ArmFailpointsFromEnvironment() {
  const char* text = std::getenv("ESPALIER_FAILPOINTS");
  return ArmFailpoints(text == nullptr ? "" : text).While("ESPALIER_FAILPOINTS");
}

}  // namespace espalier
