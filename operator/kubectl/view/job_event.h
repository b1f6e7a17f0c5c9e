// What controllers and kubelets say has happened to a job and its children.
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

// Of "v1", as the API server shows events of both groups.
Result<JobEvent> ParseJobEvent(const kube::Json& object);

// The newest `count` of them, the newest last.
std::vector<JobEvent> Newest(std::vector<JobEvent> events, size_t count);

}  // namespace espalier::ctl::view
