#include <set>

#include "operator/resources/labels.h"
#include "operator/testing/controllers.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;

constexpr const char* kIndex = resources::kCompletionIndexLabel;

std::string PhaseOf(const Json& pod) { return kube::StringAt(pod, {"status", "phase"}); }
bool HasEnded(const Json& pod) { return PhaseOf(pod) == "Succeeded" || PhaseOf(pod) == "Failed"; }

bool HasCondition(const Json& object, const std::string& type) {
  for (const Json& condition : kube::ListAt(object, {"status", "conditions"})) {
    if (kube::StringAt(condition, {"type"}) == type && kube::StringAt(condition, {"status"}) == "True") return true;
  }
  return false;
}

bool IsReady(const Json& pod) { return HasCondition(pod, "Ready") && !IsTerminating(pod); }

Json Condition(const std::string& type, const std::string& reason, const std::string& message, kube::WallTime now) {
  return {{"type", type},
          {"status", "True"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", kube::FormatTime(now)}};
}

}  // namespace

void JobController::Sync(const Json& job, const Pods& pods) {
  if (IsTerminating(job) || HasCondition(job, "Complete") || HasCondition(job, "Failed")) return;
  const kube::WallTime now = cluster_.now_();
  Json status = job.value("status", Json::object());
  Json conditions = kube::ListAt(status, {"conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  const int64_t completions = kube::IntegerAt(job, {"spec", "completions"}).value_or(1);
  const bool suspended = kube::BoolAt(job, {"spec", "suspend"});

  int64_t active = 0, ready = 0, failed = 0;
  std::set<std::string> done;
  for (const Json& pod : pods) {
    if (PhaseOf(pod) == "Succeeded") done.insert(kube::StringAt(pod, {"metadata", "labels", kIndex}));
    const bool counts_as_failed =
        PhaseOf(pod) == "Failed" || (IsTerminating(pod) && !suspended && PhaseOf(pod) != "Succeeded");
    if (counts_as_failed) ++failed;
    if (!HasEnded(pod) && !IsTerminating(pod)) ++active;
    if (IsReady(pod) && !HasEnded(pod)) ++ready;
  }
  bool failing = HasCondition(job, "FailureTarget");
  if (failed > 0 && !failing) {
    conditions.push_back(
        Condition("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now));
    failing = true;
  }
  if (failing || suspended) {
    for (const Json& pod : pods) {
      if (!HasEnded(pod) && !IsTerminating(pod)) cluster_.Delete(kube::kPods, pod);
    }
  }
  bool all_have_ended = true;
  for (const Json& pod : pods) all_have_ended = all_have_ended && HasEnded(pod);
  if (failing && all_have_ended) {
    conditions.push_back(
        Condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now));
  } else if (!failing && static_cast<int64_t>(done.size()) == completions) {
    conditions.push_back(Condition("SuccessCriteriaMet", "CompletionsReached", "all indexes have succeeded", now));
    conditions.push_back(Condition("Complete", "CompletionsReached", "all indexes have succeeded", now));
    status["completionTime"] = kube::FormatTime(now);
  }
  if (!status.contains("startTime")) status["startTime"] = kube::FormatTime(now);
  status["active"] = active;
  status["ready"] = ready;
  status["succeeded"] = done.size();
  status["failed"] = failed;
  if (!conditions.empty()) status["conditions"] = conditions;
  cluster_.SetStatus(kube::kJobs, job, status);
  if (!failing && !suspended) MakeMissing(job, pods);
}

void JobController::MakeMissing(const Json& job, const Pods& pods) {
  std::set<std::string> there;
  for (const Json& pod : pods) there.insert(kube::StringAt(pod, {"metadata", "labels", kIndex}));
  const std::string name = kube::StringAt(job, {"metadata", "name"});
  const int64_t completions = kube::IntegerAt(job, {"spec", "completions"}).value_or(1);
  for (int64_t i = 0; i < completions; ++i) {
    const std::string index = std::to_string(i);
    if (there.count(index) > 0) continue;
    if (!cluster_.pod_refusal_.empty()) return cluster_.ReportFailedCreate(job, kube::kJobs);
    const std::string suffix = std::to_string(++cluster_.num_pods_made_);
    cluster_.MakePod(job, kube::kJobs, name + "-" + index + "-" + suffix,
                     {{kIndex, index}, {"batch.kubernetes.io/job-name", name}}, name + "-" + index);
  }
}

}  // namespace espalier::ctl::cluster
