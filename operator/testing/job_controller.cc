#include <algorithm>

#include "operator/kube/testing/workload_controllers.h"
#include "operator/resources/labels.h"
#include "operator/testing/controllers.h"
#include "services/base/check.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;

constexpr const char* kIndex = resources::kCompletionIndexLabel;
constexpr const char* kFailureMessage = "Job has reached the specified backoff limit";

Json TrueCondition(const std::string& type, const std::string& reason, const std::string& message, kube::WallTime now) {
  return {{"type", type},
          {"status", "True"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", kube::FormatTime(now)}};
}

// Returns the status of the Job `object`, which was `before`, as the controller decided.
Json MakeStatus(const Json& object, const kube::Job& before, const kube::Job& after, kube::WallTime now) {
  Json status = object.value("status", Json::object());
  if (!status.contains("startTime")) status["startTime"] = kube::FormatTime(now);
  status["active"] = after.active;
  status["ready"] = after.ready;
  status["succeeded"] = after.succeeded;
  status["failed"] = after.failed;
  Json conditions = kube::ListAt(status, {"conditions"});
  if (after.failure_target && !before.failure_target) {
    conditions.push_back(TrueCondition("FailureTarget", after.failure_reason, kFailureMessage, now));
  }
  if (after.has_failed) conditions.push_back(TrueCondition("Failed", after.failure_reason, kFailureMessage, now));
  if (after.complete) {
    const std::string all_done = "all indexes have succeeded";
    conditions.push_back(TrueCondition("SuccessCriteriaMet", "CompletionsReached", all_done, now));
    conditions.push_back(TrueCondition("Complete", "CompletionsReached", all_done, now));
    status["completionTime"] = kube::FormatTime(now);
  }
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  return status;
}

}  // namespace

void JobController::Sync(const Json& object, const Pods& pods) {
  Result<kube::Job> job = kube::ParseJob(object);
  ESPALIER_CHECK(job.ok()) << job.status().ToString();
  if (IsTerminating(object) || job->complete || job->has_failed) return;
  job->completions = std::max<int64_t>(1, job->completions);  // the API server's default
  const kube::WallTime now = cluster_.now_();
  const ParsedPods parsed(pods, kIndex, cluster_.counted_pods_);
  const kube::testing::JobDecision decision = kube::testing::DecideJob(*job, parsed.views(), now);
  for (const kube::Pod* pod : decision.counted) cluster_.counted_pods_.insert(pod->meta.uid);
  for (const kube::Pod* pod : decision.deletions) cluster_.DeletePod(pod->meta);
  cluster_.SetStatus(kube::kJobs, object, MakeStatus(object, *job, decision.job, now));
  for (const int64_t index : decision.missing) {
    if (!cluster_.pod_refusal_.empty()) return cluster_.ReportFailedCreate(object, kube::kJobs);
    const std::string hostname = job->meta.key.name + "-" + std::to_string(index);
    cluster_.MakePod(object, kube::kJobs, hostname + "-" + std::to_string(++cluster_.num_pods_made_),
                     {{kIndex, std::to_string(index)}, {"batch.kubernetes.io/job-name", job->meta.key.name}}, hostname);
  }
}

}  // namespace espalier::ctl::cluster
