#include "operator/kube/watch_event.h"

#include <optional>

namespace espalier::ctl::kube {
namespace {

std::optional<WatchEventType> ParseType(std::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  if (name == "ERROR") return WatchEventType::kError;
  return std::nullopt;
}

}  // namespace

Result<WatchEvent> ParseWatchEvent(std::string_view line) {
  Result<Json> json = ParseObjects(line, ObjectsIn::kEvent);
  if (!json.ok()) return std::move(json).status().While("a watch event");
  const std::optional<WatchEventType> type = ParseType(StringAt(*json, {"type"}));
  if (!type.has_value()) return InvalidArgument("a watch event without a known type");
  const Json* const object = Find(*json, {"object"});
  if (object == nullptr || !object->is_object()) return InvalidArgument("a watch event without an object");
  return WatchEvent{*type, std::move((*json)["object"])};
}

}  // namespace espalier::ctl::kube
