// Events that controllers and kubelets have recorded about a job and its children.
#pragma once

#include <string>
#include <vector>

#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::view {

struct JobEvent {
  kube::WallTime last_seen{};
  std::string type;    // "Normal", "Warning"
  std::string reason;  // "FailedScheduling"
  std::string object;  // "Pod cora-trainer-1-0-x7k2p"
  std::string message;
  int64_t count = 1;
};

// Parses an Event of apiVersion "v1". The API server also serves events that were written with apiVersion
// "events.k8s.io/v1" in this version.
Result<JobEvent> ParseJobEvent(const kube::Json& object);

// Returns the newest `count` events, the newest last.
std::vector<JobEvent> SelectNewest(std::vector<JobEvent> events, size_t count);

}  // namespace espalier::ctl::view
