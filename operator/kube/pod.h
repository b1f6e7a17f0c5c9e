// The fields of a pod that the operator reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/kube/object_meta.h"

namespace espalier::ctl::kube {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

struct ContainerEnd {
  int exit_code = 0;
  int signal = 0;       // that ended the process; 0: none
  std::string reason;   // "OOMKilled", "Error"; if the end was not observed, "Unknown" or "ContainerStatusUnknown"
  std::string message;  // termination log of the process
  std::optional<WallTime> started_at = std::nullopt;  // nullopt: it did not start, or its start was not observed
  WallTime finished_at{};
  bool succeeded() const { return exit_code == 0 && signal == 0; }
  friend bool operator==(const ContainerEnd&, const ContainerEnd&) = default;
};

struct ContainerState {
  std::string name;
  bool ready = false;
  int restarts = 0;
  std::string waiting_reason;  // "ImagePullBackOff", "CreateContainerConfigError"; empty: not waiting
  std::string waiting_message;
  std::optional<ContainerEnd> ended;       // state.terminated
  std::optional<ContainerEnd> last_ended;  // lastState.terminated: the end before the last restart
  friend bool operator==(const ContainerState&, const ContainerState&) = default;
};

struct Pod {
  ObjectMeta meta;
  PodPhase phase = PodPhase::kUnknown;
  std::string reason;  // "Evicted", "NodeLost"
  std::string message;
  std::string node;  // spec.nodeName; empty: not scheduled
  std::string ip;
  bool ready = false;                        // condition Ready
  std::optional<WallTime> ready_changed_at;  // last transition of Ready, in either direction; nullopt: no such time
  bool disruption_target = false;            // condition DisruptionTarget
  std::string disruption_reason;             // reason of DisruptionTarget: "DeletionByTaintManager"
  std::optional<WallTime> disrupted_since;   // transition to DisruptionTarget; nullopt: not a target, or no time
  std::string unscheduled_message;           // message of PodScheduled=False
  std::vector<ContainerState> containers;    // init containers first
  friend bool operator==(const Pod&, const Pod&) = default;
};

// Parses a pod. Returns InvalidArgument if its metadata is invalid; other fields that are absent or invalid are empty.
Result<Pod> ParsePod(const Json& object);

}  // namespace espalier::ctl::kube
