// What the operator wants to know of a pod.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/kube/object_meta.h"

namespace espalier::ctl::kube {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

struct ContainerEnd {
  int exit_code = 0;
  int signal = 0;
  std::string reason;   // "OOMKilled", "Error", "Completed"; "Unknown", "ContainerStatusUnknown": nobody saw it end
  std::string message;  // what the process left in its termination log
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
  std::optional<ContainerEnd> last_ended;  // lastState.terminated: before the restart
  friend bool operator==(const ContainerState&, const ContainerState&) = default;
};

struct Pod {
  ObjectMeta meta;
  PodPhase phase = PodPhase::kUnknown;
  std::string reason;  // "Evicted", "NodeLost"
  std::string message;
  std::string node;  // spec.nodeName; empty: not scheduled
  std::string ip;
  bool ready = false;                       // condition Ready
  std::optional<WallTime> ready_since;      // when it became so, or ceased to be; nullopt: it was never told
  bool disruption_target = false;           // condition DisruptionTarget
  std::string disruption_reason;            // its reason: "DeletionByTaintManager", "EvictionByEvictionAPI"
  std::optional<WallTime> disrupted_since;  // when it became so; nullopt: it is not, or the condition has no time
  std::string unscheduled_reason;           // message of PodScheduled=False
  std::vector<ContainerState> containers;   // init containers first
  friend bool operator==(const Pod&, const Pod&) = default;
};

Result<Pod> ParsePod(const Json& object);

}  // namespace espalier::ctl::kube
