// What the operator wants to know of Jobs, StatefulSets and events about them.
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
  bool success_criteria_met = false;  // condition SuccessCriteriaMet=True: about to be complete
  bool failure_target = false;        // condition FailureTarget=True: it is going to fail, pods still end
  bool has_failed = false;            // condition Failed=True
  std::string failure_reason;
  std::string failure_message;
  std::optional<WallTime> completed_at;
  std::string completed_indexes;            // of an Indexed Job: "0,2-4"
  std::optional<WallTime> suspended_since;  // of condition Suspended=True

  // Whether `index`, a pod's completion index, is among completed_indexes.
  bool HasCompleted(const std::string& index) const;
  friend bool operator==(const Job&, const Job&) = default;
};
Result<Job> ParseJob(const Json& object);

struct StatefulSet {
  ObjectMeta meta;
  int64_t observed_generation = 0;
  int64_t wanted = 0;   // spec.replicas
  int64_t current = 0;  // status.replicas
  int64_t ready = 0;
  friend bool operator==(const StatefulSet&, const StatefulSet&) = default;
};
Result<StatefulSet> ParseStatefulSet(const Json& object);

// Of "v1": what controllers say happened to the object with `involved_uid`.
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
