// GET .../pods/<pod>/log as a request.
#pragma once

#include <optional>
#include <string>

#include "operator/kube/request.h"
#include "operator/kube/time.h"

namespace espalier::ctl::logs {

struct LogOptions {
  std::string container;
  bool follow = false;                  // the answer goes on while the container runs
  bool previous = false;                // of the container before its last restart
  std::optional<int64_t> tail_lines;    // the last ones only
  std::optional<kube::WallTime> since;  // in whole seconds: that is all that API server and kubelet look at
  std::optional<int64_t> limit_bytes;
};

// Always with the kubelet's timestamps.
kube::HttpRequest LogRequest(const kube::ObjectKey& pod, const LogOptions& options);

}  // namespace espalier::ctl::logs
