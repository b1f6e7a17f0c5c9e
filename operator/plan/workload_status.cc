// A patch that changes a condition contains the whole list of conditions, because a merge patch replaces lists. Each
// patch contains the resourceVersion, so that it fails if Kueue has changed the Workload meanwhile. Reasons and the
// rules for transitions are those of Kueue's jobframework and workload packages (0.19).
#include "operator/plan/workload_status.h"

#include <algorithm>

#include "operator/api/dist_training.h"
#include "operator/plan/quota.h"

namespace espalier::ctl::plan {
namespace {

using kube::Json;

// Reasons of PodsReady.
constexpr char kWaitForStart[] = "WaitForStart";
constexpr char kWaitForRecovery[] = "WaitForRecovery";
constexpr char kStarted[] = "Started";
constexpr char kPodsRecovered[] = "Recovered";
constexpr char kReadyMessage[] = "all pods of this stage are ready";
constexpr char kNotReadyMessage[] = "not all pods of this stage are ready";

// Reasons of evictions after which Kueue expects that the Workload is requeued at once.
constexpr char kPreempted[] = "Preempted";
constexpr char kNodeFailures[] = "NodeFailures";

PatchWorkloadStatus MakeStatusPatch(const kube::QueuedWorkload& workload, Json status) {
  return {
      .key = workload.meta.key,
      .patch = {{"metadata", {{"resourceVersion", workload.meta.resource_version}}}, {"status", std::move(status)}}};
}

// Adds or replaces a condition. lastTransitionTime changes only if the condition's status changes.
void SetCondition(Json* conditions, const kube::QueuedWorkload& workload, const char* type, bool is_true,
                  const std::string& reason, const std::string& message, kube::WallTime now) {
  Json condition = {{"type", type},
                    {"status", is_true ? "True" : "False"},
                    {"reason", reason},
                    {"message", api::CutMessage(message)},
                    {"observedGeneration", workload.meta.generation},
                    {"lastTransitionTime", kube::FormatTime(now)}};
  for (Json& existing : *conditions) {
    if (kube::StringAt(existing, {"type"}) != type) continue;
    if (existing["status"] == condition["status"] && existing.contains("lastTransitionTime")) {
      condition["lastTransitionTime"] = existing["lastTransitionTime"];
    }
    existing = std::move(condition);
    return;
  }
  conditions->push_back(std::move(condition));
}

// Returns whether the job has pods now and all of them are ready.
bool AllAreReady(const api::Status& status) {
  bool has_some = false;
  for (const auto& [role, replicas] : status.replicas) {
    if (replicas.ready < replicas.wanted) return false;
    has_some = has_some || replicas.wanted > 0;
  }
  return has_some;
}

struct PodsReady {
  bool is_true;
  const char* reason;
};

// Returns nullopt if PodsReady must not change.
std::optional<PodsReady> NextPodsReady(const kube::QueuedWorkload& workload, const api::Status& status) {
  const std::optional<kube::Condition> before = workload.Find(kWorkloadPodsReady);
  const bool was_ready = before && before->is_true();
  const bool has_restarted = before && (before->reason == kWaitForRecovery || before->reason == kPodsRecovered);
  if (AllAreReady(status)) return PodsReady{true, has_restarted ? kPodsRecovered : kStarted};
  if (was_ready && !api::IsTrue(status, api::kRestarting)) return std::nullopt;
  return PodsReady{false, was_ready || has_restarted ? kWaitForRecovery : kWaitForStart};
}

// Returns status.reclaimablePods with, for each pod set, the larger of the numbers of the Workload and of
// `reclaimable`.
Json MergeReclaimable(const kube::QueuedWorkload& workload, const ReclaimablePods& reclaimable) {
  Json list = workload.reclaimable_pods;
  for (const auto& [name, count] : reclaimable) {
    const auto existing = std::find_if(
        list.begin(), list.end(), [&name = name](const Json& pods) { return kube::StringAt(pods, {"name"}) == name; });
    if (existing == list.end()) {
      list.push_back({{"name", name}, {"count", count}});
    } else if (workload.CountReclaimable(name) < count) {
      (*existing)["count"] = count;
    }
  }
  return list;
}

}  // namespace

PatchWorkloadStatus ReleaseQuota(const kube::QueuedWorkload& workload, kube::WallTime now) {
  const std::optional<kube::Condition> evicted = workload.Find(kWorkloadEvicted);
  const std::string cause = evicted && !evicted->reason.empty() ? evicted->reason : kWorkloadEvicted;
  const std::string message = evicted ? evicted->message : "";
  Json conditions = workload.conditions;
  SetCondition(&conditions, workload, kWorkloadRequeued, cause == kPreempted || cause == kNodeFailures, cause, message,
               now);
  SetCondition(&conditions, workload, kWorkloadQuotaReserved, false, "Pending", message, now);
  if (workload.Find(kWorkloadPodsReady)) {
    SetCondition(&conditions, workload, kWorkloadPodsReady, false, kWaitForStart, kNotReadyMessage, now);
  }
  Json status = {{"admission", nullptr}};
  if (workload.CountReclaimable(kTrainerPodSet) > 0) {
    status["reclaimablePods"] = Json::array();
    for (const Json& pods : workload.reclaimable_pods) {
      if (kube::StringAt(pods, {"name"}) != kTrainerPodSet) status["reclaimablePods"].push_back(pods);
    }
  }
  if (const auto admitted = workload.Find(kWorkloadAdmitted); admitted && admitted->is_true()) {
    SetCondition(&conditions, workload, kWorkloadAdmitted, false, "NoReservation", "The workload has no reservation",
                 now);
    if (admitted->changed_at) {  // counts towards maximumExecutionTimeSeconds
      const auto ran = std::chrono::floor<std::chrono::seconds>(now - *admitted->changed_at).count();
      status["accumulatedPastExecutionTimeSeconds"] =
          workload.past_execution_seconds.value_or(0) + std::max<int64_t>(0, ran);
    }
  }
  status["conditions"] = std::move(conditions);
  return MakeStatusPatch(workload, std::move(status));
}

std::optional<PatchWorkloadStatus> ReportFinished(const kube::QueuedWorkload& workload, const api::Status& status,
                                                  kube::WallTime now) {
  if (workload.IsTrue(kWorkloadFinished)) return std::nullopt;
  const bool succeeded = api::IsTrue(status, api::kSucceeded);
  const api::Condition* const end = api::FindCondition(status, succeeded ? api::kSucceeded : api::kFailed);
  Json conditions = workload.conditions;
  SetCondition(&conditions, workload, kWorkloadFinished, true, succeeded ? "Succeeded" : "Failed",
               end == nullptr ? "" : end->reason + ": " + end->message, now);
  return MakeStatusPatch(workload, {{"conditions", std::move(conditions)}});
}

std::optional<PatchWorkloadStatus> ReportPods(const kube::QueuedWorkload& workload, const api::Status& status,
                                              const ReclaimablePods& reclaimable, kube::WallTime now) {
  Json patch = Json::object();
  const std::optional<PodsReady> next = NextPodsReady(workload, status);
  const std::optional<kube::Condition> before = workload.Find(kWorkloadPodsReady);
  if (next && (!before || before->is_true() != next->is_true || before->reason != next->reason)) {
    Json conditions = workload.conditions;
    SetCondition(&conditions, workload, kWorkloadPodsReady, next->is_true, next->reason,
                 next->is_true ? kReadyMessage : kNotReadyMessage, now);
    patch["conditions"] = std::move(conditions);
  }
  if (Json pods = MergeReclaimable(workload, reclaimable); pods != workload.reclaimable_pods) {
    patch["reclaimablePods"] = std::move(pods);
  }
  if (patch.empty()) return std::nullopt;
  return MakeStatusPatch(workload, std::move(patch));
}

}  // namespace espalier::ctl::plan
