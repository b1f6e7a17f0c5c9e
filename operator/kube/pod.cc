#include "operator/kube/pod.h"

#include <algorithm>
#include <limits>

#include "operator/kube/condition.h"

namespace espalier::ctl::kube {
namespace {

PodPhase ParsePhase(std::string_view name) {
  if (name == "Pending") return PodPhase::kPending;
  if (name == "Running") return PodPhase::kRunning;
  if (name == "Succeeded") return PodPhase::kSucceeded;
  if (name == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

int IntAt(const Json& value, JsonPath path) {
  using Limits = std::numeric_limits<int>;
  return static_cast<int>(std::clamp<int64_t>(IntegerAt(value, path).value_or(0), Limits::min(), Limits::max()));
}

std::optional<ContainerEnd> EndAt(const Json& status, JsonPath path) {
  const Json* const terminated = Find(status, path);
  if (terminated == nullptr || !terminated->is_object()) return std::nullopt;
  return ContainerEnd{.exit_code = IntAt(*terminated, {"exitCode"}),
                      .signal = IntAt(*terminated, {"signal"}),
                      .reason = StringAt(*terminated, {"reason"}),
                      .message = StringAt(*terminated, {"message"}),
                      .started_at = TimeAt(*terminated, {"startedAt"}),
                      .finished_at = TimeAt(*terminated, {"finishedAt"}).value_or(WallTime())};
}

ContainerState ParseState(const Json& status) {
  return {.name = StringAt(status, {"name"}),
          .ready = BoolAt(status, {"ready"}),
          .restarts = IntAt(status, {"restartCount"}),
          .waiting_reason = StringAt(status, {"state", "waiting", "reason"}),
          .waiting_message = StringAt(status, {"state", "waiting", "message"}),
          .ended = EndAt(status, {"state", "terminated"}),
          .last_ended = EndAt(status, {"lastState", "terminated"})};
}

}  // namespace

Result<Pod> ParsePod(const Json& object) {
  ASSIGN_OR_RETURN(ObjectMeta meta, ParseObjectMeta(object));
  Pod pod{.meta = std::move(meta),
          .phase = ParsePhase(StringAt(object, {"status", "phase"})),
          .reason = StringAt(object, {"status", "reason"}),
          .message = StringAt(object, {"status", "message"}),
          .node = StringAt(object, {"spec", "nodeName"}),
          .ip = StringAt(object, {"status", "podIP"}),
          .ready = IsConditionTrue(object, "Ready"),
          .disruption_target = IsConditionTrue(object, "DisruptionTarget")};
  if (pod.disruption_target) {
    const std::optional<Condition> disrupted = FindCondition(object, "DisruptionTarget");
    pod.disruption_reason = disrupted->reason;
    pod.disrupted_since = disrupted->changed_at;
  }
  if (const std::optional<Condition> ready = FindCondition(object, "Ready")) pod.ready_changed_at = ready->changed_at;
  const std::optional<Condition> scheduled = FindCondition(object, "PodScheduled");
  if (scheduled.has_value() && scheduled->is_false()) pod.unscheduled_message = scheduled->message;
  for (const char* const statuses : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& status : ListAt(object, {"status", statuses})) pod.containers.push_back(ParseState(status));
  }
  return pod;
}

}  // namespace espalier::ctl::kube
