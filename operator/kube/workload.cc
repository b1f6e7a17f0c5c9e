#include "operator/kube/workload.h"

#include <algorithm>
#include <string_view>

#include "operator/kube/condition.h"
#include "services/base/parse_number.h"

namespace espalier::ctl::kube {
namespace {

int64_t CountAt(const Json& value, JsonPath path) { return std::max<int64_t>(0, IntegerAt(value, path).value_or(0)); }

std::string ReadPodGroup(const Json& object) {
  return StringAt(object, {"spec", "template", "spec", "schedulingGroup", "podGroupName"});
}

}  // namespace

bool Job::HasCompleted(const std::string& index) const {
  const std::optional<int64_t> wanted = ParseNumber<int64_t>(index);
  std::string_view rest = completed_indexes;
  while (wanted && !rest.empty()) {
    const std::string_view range = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), range.size() + 1));
    const size_t dash = range.find('-');
    const std::optional<int64_t> first = ParseNumber<int64_t>(range.substr(0, dash));
    const std::optional<int64_t> last =
        dash == std::string_view::npos ? first : ParseNumber<int64_t>(range.substr(dash + 1));
    if (first && last && *first <= *wanted && *wanted <= *last) return true;
  }
  return false;
}

Result<Job> ParseJob(const Json& object) {
  ASSIGN_OR_RETURN(ObjectMeta meta, ParseObjectMeta(object));
  Job job{.meta = std::move(meta),
          .completions = CountAt(object, {"spec", "completions"}),
          .suspended = BoolAt(object, {"spec", "suspend"}),
          .active = CountAt(object, {"status", "active"}),
          .ready = CountAt(object, {"status", "ready"}),
          .succeeded = CountAt(object, {"status", "succeeded"}),
          .failed = CountAt(object, {"status", "failed"}),
          .complete = IsConditionTrue(object, "Complete"),
          .success_criteria_met = IsConditionTrue(object, "SuccessCriteriaMet"),
          .completed_at = TimeAt(object, {"status", "completionTime"}),
          .completed_indexes = StringAt(object, {"status", "completedIndexes"}),
          .pod_group = ReadPodGroup(object)};
  if (const auto suspended = FindCondition(object, "Suspended"); suspended && suspended->is_true()) {
    job.suspended_since = suspended->changed_at;
  }
  // FailureTarget comes first; Failed follows with the same reason when the last pod has ended.
  for (const char* const type : {"FailureTarget", "Failed"}) {
    const std::optional<Condition> condition = FindCondition(object, type);
    if (!condition.has_value() || !condition->is_true()) continue;
    (type == std::string_view("Failed") ? job.has_failed : job.failure_target) = true;
    job.failure_reason = condition->reason;
    job.failure_message = condition->message;
  }
  return job;
}

Result<StatefulSet> ParseStatefulSet(const Json& object) {
  ASSIGN_OR_RETURN(ObjectMeta meta, ParseObjectMeta(object));
  return StatefulSet{.meta = std::move(meta),
                     .observed_generation = CountAt(object, {"status", "observedGeneration"}),
                     .wanted = IntegerAt(object, {"spec", "replicas"}).value_or(1),  // the API server's default
                     .current = CountAt(object, {"status", "replicas"}),
                     .ready = CountAt(object, {"status", "readyReplicas"}),
                     .pod_group = ReadPodGroup(object)};
}

Result<Event> ParseEvent(const Json& object) {
  ASSIGN_OR_RETURN(ObjectMeta meta, ParseObjectMeta(object));
  // The legacy event recorder writes lastTimestamp, the new one eventTime and series. The fields of the other recorder
  // are null.
  WallTime last_seen = meta.created_at;
  for (const auto& time : {TimeAt(object, {"lastTimestamp"}), TimeAt(object, {"eventTime"}),
                           TimeAt(object, {"series", "lastObservedTime"})}) {
    if (time.has_value()) last_seen = std::max(last_seen, *time);
  }
  return Event{.meta = std::move(meta),
               .involved_uid = StringAt(object, {"involvedObject", "uid"}),
               .involved_kind = StringAt(object, {"involvedObject", "kind"}),
               .reason = StringAt(object, {"reason"}),
               .message = StringAt(object, {"message"}),
               .last_seen = last_seen};
}

}  // namespace espalier::ctl::kube
