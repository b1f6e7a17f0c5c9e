// Parses the lines of a watch response.
#pragma once

#include <string>
#include <string_view>

#include "operator/kube/json.h"

namespace espalier::ctl::kube {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  Json object;  // of a bookmark: only apiVersion, kind and metadata.resourceVersion; of an error: a Status
};

// Parses a line of a watch. Returns InvalidArgument if it is not an event; the message does not contain the line.
Result<WatchEvent> ParseWatchEvent(std::string_view line);

}  // namespace espalier::ctl::kube
