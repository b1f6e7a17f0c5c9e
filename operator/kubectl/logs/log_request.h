// Builds the request GET .../pods/<pod>/log.
#pragma once

#include <optional>
#include <string>

#include "operator/kube/request.h"
#include "operator/kube/time.h"

namespace espalier::ctl::logs {

struct LogOptions {
  std::string container;
  bool follow = false;                  // the response continues while the container runs
  bool previous = false;                // the log of the container before its last restart
  std::optional<int64_t> tail_lines;    // the maximum number of lines, counted from the end
  std::optional<kube::WallTime> since;  // in whole seconds, the precision of API server and kubelet
  std::optional<int64_t> limit_bytes;   // of the response
};

// Returns the request. It always requests the kubelet's timestamps.
kube::HttpRequest LogRequest(const kube::ObjectKey& pod, const LogOptions& options);

}  // namespace espalier::ctl::logs
