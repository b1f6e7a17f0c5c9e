// The fields of Jobs, StatefulSets and Events that the operator reads. The parsers return InvalidArgument if the
// metadata is invalid; other fields of a wrong type count as unset.
#pragma once

#include <optional>
#include <string>

#include "operator/kube/object_meta.h"

namespace espalier::ctl::kube {

struct Job {
  ObjectMeta meta;
  int64_t completions = 0;
  bool suspended = false;
  int64_t active = 0;
  int64_t ready = 0;
  int64_t succeeded = 0;
  int64_t failed = 0;
  bool complete = false;              // condition Complete=True
  bool success_criteria_met = false;  // condition SuccessCriteriaMet=True: Complete follows when all pods have ended
  bool failure_target = false;        // condition FailureTarget=True: Failed follows when all pods have ended
  bool has_failed = false;            // condition Failed=True
  std::string failure_reason;
  std::string failure_message;
  std::optional<WallTime> completed_at;
  std::string completed_indexes;            // of an Indexed Job: "0,2-4"
  std::optional<WallTime> suspended_since;  // of condition Suspended=True
  std::string pod_group;                    // spec.template.spec.schedulingGroup.podGroupName; empty: no PodGroup

  // Returns whether `index`, a pod's completion index, is in completed_indexes.
  bool HasCompleted(const std::string& index) const;
  friend bool operator==(const Job&, const Job&) = default;
};
Result<Job> ParseJob(const Json& object);

struct StatefulSet {
  ObjectMeta meta;
  int64_t observed_generation = 0;
  int64_t wanted = 0;   // spec.replicas
  int64_t current = 0;  // status.replicas: pods that exist
  int64_t ready = 0;
  std::string pod_group;  // spec.template.spec.schedulingGroup.podGroupName; empty: no PodGroup
  friend bool operator==(const StatefulSet&, const StatefulSet&) = default;
};
Result<StatefulSet> ParseStatefulSet(const Json& object);

// An Event of the core group ("v1"): a report of a controller about the object with `involved_uid`.
struct Event {
  ObjectMeta meta;
  std::string involved_uid;
  std::string involved_kind;
  std::string reason;  // "FailedCreate"
  std::string message;
  WallTime last_seen{};
  friend bool operator==(const Event&, const Event&) = default;
};
Result<Event> ParseEvent(const Json& object);

}  // namespace espalier::ctl::kube
