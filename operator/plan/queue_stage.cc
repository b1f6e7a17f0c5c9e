// The Workload follows the job as in Kueue's jobframework: it is created when the job needs quota and has no pods.
// While no quota is reserved, its pod sets are updated; once quota is reserved, the Workload is replaced if the pod
// sets change. If the document gets fewer trainers, the Workload is not replaced: the quota of the trainers that are no
// longer needed is given back when their pods have ended, like the quota of the partitioners. An eviction first
// suspends the job (quota.h), which saves a checkpoint; when no pod is left, the quota is released, and Kueue queues
// the Workload again. The Workload of a job that is suspended by its document is deleted, because it would hold quota.
#include "operator/plan/queue_stage.h"

#include <algorithm>

#include "operator/plan/acceptance.h"
#include "operator/plan/failure.h"
#include "operator/plan/quota.h"
#include "operator/plan/workload_status.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;

// No watch reports changes of permissions, flavors and priority classes, or that Kueue's API is installed later.
constexpr std::chrono::seconds kKueueRetryInterval{10};

// Reason of the condition Evicted when the Workload has run for maximumExecutionTimeSeconds.
constexpr char kDeactivatedAfterTime[] = "DeactivatedDueToMaximumExecutionTimeExceeded";

void ReportWaiting(PlanBuilder& builder, const std::string& reason, const std::string& message) {
  builder.SetCondition(api::kQuotaReserved, ConditionStatus::kFalse, reason, message);
}

// Returns the condition Suspended, which is True only when no pod of the job is left.
bool IsFullySuspended(const PlanBuilder& builder) { return api::IsTrue(builder.status(), api::kSuspended); }

void DeleteWorkload(PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  builder.Delete(kube::kWorkloads, workload.meta);
}

void PatchStatus(PlanBuilder& builder, std::optional<PatchWorkloadStatus> patch) {
  if (patch) builder.Add(*std::move(patch));
}

std::string UnavailableMessage(const Observed& seen) {
  return "Workloads of Kueue cannot be listed (" + seen.queue.list_error +
         "): install Kueue with API kueue.x-k8s.io/v1beta2, and set kueue.enabled of the chart, which grants the "
         "permissions";
}

std::string DisabledMessage(const PlanBuilder& builder) {
  return std::string("the label ") + resources::kQueueLabel + " asks for the queue " +
         resources::FindLabel(builder.training(), resources::kQueueLabel) +
         " of Kueue, which this operator does not use: set kueue.enabled of the chart (--kueue), or remove the label";
}

// Applies the Workload that corresponds to the current resource. A later reconcile reads its status.
void Submit(PlanBuilder& builder) {
  const Observed::Queue& queue = builder.seen().queue;
  const std::string queue_name = resources::FindLabel(builder.training(), resources::kQueueLabel);
  const std::string priority_class = resources::FindLabel(builder.training(), resources::kQueuePriorityLabel);
  if (!priority_class.empty() && !queue.priority) {
    builder.RequeueAfter(kKueueRetryInterval);
    return ReportWaiting(builder, kPriorityUnavailable,
                         "WorkloadPriorityClass " + priority_class + ": " +
                             (queue.priority_error.empty() ? "not read yet" : queue.priority_error));
  }
  const std::string name = resources::QueuedWorkloadName(builder.name());
  builder.ApplyAgain(kube::kWorkloads, resources::QueuedWorkload(builder.context(), queue.priority));
  if (builder.world().IsTaken(kube::kWorkloads, name)) {
    return ReportWaiting(builder, kNameTaken, "Workload " + name + " exists and does not belong to this job");
  }
  if (builder.seen().refusal && builder.seen().refusal->child == "Workload " + name) {
    return ReportWaiting(builder, kRefused, "Workload " + name + ": " + builder.seen().refusal->message);
  }
  ReportWaiting(builder, kPending, "Workload " + name + " is being put into the queue " + queue_name);
}

// Returns why the Workload is not admitted: the message of its False condition QuotaReserved or Admitted, if there is
// one.
std::string PendingMessage(const kube::QueuedWorkload& workload) {
  const std::string name = "Workload " + workload.meta.key.name;
  if (!workload.active) return name + " is deactivated: set its spec.active to true to queue it again";
  for (const char* const type : {kWorkloadQuotaReserved, kWorkloadAdmitted}) {
    const std::optional<kube::Condition> condition = workload.Find(type);
    if (condition && condition->is_false() && !condition->message.empty()) return name + ": " + condition->message;
  }
  return workload.IsTrue(kWorkloadQuotaReserved) ? name + " has quota and waits for admission checks"
                                                 : name + " is in the queue " + workload.queue;
}

// Returns what a user must do to requeue a Workload that was evicted for `reason`, or "" if Kueue requeues it. After
// the time limit, setting spec.active to true is not enough: Kueue 0.19 sets it to false again, because the condition
// DeactivationTarget stays True.
std::string RequeueRemedy(const kube::QueuedWorkload& workload, const std::string& reason) {
  if (workload.active) return "";
  const std::string name = "Workload " + workload.meta.key.name;
  if (reason == kDeactivatedAfterTime) return "; delete " + name + " to queue the job again";
  return "; set spec.active of " + name + " to true to queue it";
}

void FollowEviction(PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  const std::optional<kube::Condition> evicted = workload.Find(kWorkloadEvicted);
  if (IsFullySuspended(builder) && workload.IsTrue(kWorkloadQuotaReserved)) {
    PatchStatus(builder, ReleaseQuota(workload, builder.stamp()));
  }
  ReportWaiting(builder, kEvicted,
                evicted->reason + ": " + evicted->message + RequeueRemedy(workload, evicted->reason));
}

// Returns whether an evicted Workload is in its queue again. Kueue sets Evicted to False only at the next admission.
bool IsQueuedAgain(const PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  return workload.active && IsFullySuspended(builder) && !workload.IsTrue(kWorkloadQuotaReserved) &&
         workload.IsTrue(kWorkloadRequeued);
}

// Returns whether more than `pods` pods of trainers have not ended or may still be created.
bool HasMoreTrainerPods(const PlanBuilder& builder, int64_t pods) {
  int64_t running = 0;
  for (const auto& [incarnation, run] : builder.world().trainer_runs()) {
    if (run.job != nullptr && run.job->completions > pods) return true;
    running += std::count_if(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return !HasEnded(*pod); });
  }
  return running > pods;
}

// Returns the number of pods whose quota the job does not need any more, by pod set. ReportPods ignores a number that
// is smaller than an earlier one. The quota of a group with more trainers than the document wants is needed until its
// Job is gone and the number of running trainer pods is at most the wanted one. A document that is not accepted yet
// frees no quota of trainers: the job would get it back only through the queue.
ReclaimablePods FindReclaimablePods(const PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  ReclaimablePods pods;
  const auto* const partitioners = workload.FindPodSet(kPartitionerPodSet);
  if (builder.status().partition && partitioners != nullptr) pods[kPartitionerPodSet] = partitioners->count;
  if (!IsAccepted(builder.training(), builder.seen())) return pods;
  const int64_t wanted = resources::CountPods(builder.spec(), api::Role::kTrainer);
  const auto* const set = workload.FindPodSet(kTrainerPodSet);
  const auto* const assignment = workload.FindAssignment(kTrainerPodSet);
  if (set != nullptr && assignment != nullptr && wanted < assignment->count.value_or(set->count) &&
      !HasMoreTrainerPods(builder, wanted)) {
    pods[kTrainerPodSet] = set->count - wanted;
  }
  return pods;
}

// Returns ", with 2 of 4 trainers", or nothing if all trainers of the document are admitted.
std::string PartialAdmission(const PlanBuilder& builder) {
  const std::optional<int64_t> admitted = AdmittedTrainers(builder.training(), builder.seen());
  if (!builder.training().spec || !admitted) return "";
  const int64_t wanted = builder.spec().job.trainer_replicas;
  if (*admitted >= wanted) return "";
  return ", with " + std::to_string(*admitted) + " of " + std::to_string(wanted) + " trainers";
}

void FollowAdmission(PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  builder.SetCondition(api::kQuotaReserved, ConditionStatus::kTrue, kAdmitted,
                       "Workload " + workload.meta.key.name + " is admitted by ClusterQueue " + workload.cluster_queue +
                           PartialAdmission(builder));
  if (!builder.training().spec) return;
  PatchStatus(builder, ReportPods(workload, builder.status(), FindReclaimablePods(builder, workload), builder.stamp()));
}

bool HasOldPriority(const PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  return workload.priority_class != resources::FindLabel(builder.training(), resources::kQueuePriorityLabel);
}

// Replaces or updates a Workload that is outdated (IsOutdated) or has another priority class than the resource. While
// it has quota, it is replaced only after the job's pods have ended.
void Replace(PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  if (!workload.IsTrue(kWorkloadQuotaReserved)) return Submit(builder);
  if (IsFullySuspended(builder)) DeleteWorkload(builder, workload);
  ReportWaiting(builder, kWorkloadOutdated,
                "the resource has changed since Workload " + workload.meta.key.name +
                    " was admitted; the job goes back to the queue");
}

void FollowWorkload(PlanBuilder& builder, const kube::QueuedWorkload& workload) {
  const std::string name = "Workload " + workload.meta.key.name;
  if (workload.meta.deletion_requested_at) return ReportWaiting(builder, kPending, name + " is being deleted");
  if (workload.IsTrue(kWorkloadFinished)) {
    if (IsFullySuspended(builder)) DeleteWorkload(builder, workload);
    return ReportWaiting(builder, kPending, name + " was declared finished; it is replaced");
  }
  const bool is_outdated = IsOutdated(workload, builder.training(), builder.status(), builder.seen());
  const bool may_update = !workload.IsTrue(kWorkloadQuotaReserved) && IsAccepted(builder.training(), builder.seen());
  if (is_outdated || (may_update && HasOldPriority(builder, workload))) return Replace(builder, workload);
  if (workload.IsTrue(kWorkloadEvicted) && !IsQueuedAgain(builder, workload)) return FollowEviction(builder, workload);
  if (!workload.IsTrue(kWorkloadAdmitted)) return ReportWaiting(builder, kPending, PendingMessage(workload));
  FollowAdmission(builder, workload);
}

}  // namespace

void PlaceInFlavors(PlanBuilder& builder) {
  const Observed& seen = builder.seen();
  if (!IsQueued(builder.training()) || !seen.queue.is_enabled) return;
  if (!IsQueueKnown(seen)) {
    return builder.BlockChanges({.reason = kKueueUnavailable, .message = UnavailableMessage(seen)});
  }
  Placements placements = FindPlacements(builder.training(), seen);
  if (!placements.missing.empty()) {
    builder.BlockChanges({.reason = kFlavorUnavailable, .message = placements.missing});
    builder.RequeueAfter(kKueueRetryInterval);
  }
  builder.SetPlacements(std::move(placements.by_role));
}

void FollowQueue(PlanBuilder& builder) {
  const api::DistTraining& training = builder.training();
  const kube::QueuedWorkload* const workload = FindWorkload(training, builder.seen());
  if (api::IsTerminal(builder.status())) {
    if (workload != nullptr && !workload->meta.deletion_requested_at) {
      PatchStatus(builder, ReportFinished(*workload, builder.status(), builder.stamp()));
    }
    return;
  }
  if (!IsQueued(training)) {
    if (workload != nullptr) DeleteWorkload(builder, *workload);
    return builder.ClearCondition(api::kQuotaReserved, kNotQueued,
                                  std::string("the label ") + resources::kQueueLabel + " was removed");
  }
  if (!builder.status().started_at && !IsFullySuspended(builder)) return;  // not accepted yet
  if (!builder.seen().queue.is_enabled) return ReportWaiting(builder, kKueueDisabled, DisabledMessage(builder));
  if (!IsQueueKnown(builder.seen())) {
    builder.RequeueAfter(kKueueRetryInterval);
    return builder.SetCondition(api::kQuotaReserved, ConditionStatus::kUnknown, kKueueUnavailable,
                                UnavailableMessage(builder.seen()));
  }
  if (builder.run_policy().suspend) {
    if (workload != nullptr && IsFullySuspended(builder)) DeleteWorkload(builder, *workload);
    return ReportWaiting(builder, kNotQueued, "spec.runPolicy.suspend is true");
  }
  if (workload != nullptr) return FollowWorkload(builder, *workload);
  if (!IsFullySuspended(builder))
    return ReportWaiting(builder, kPending, "the job's Workload is gone; its pods are being stopped");
  if (!IsAccepted(training, builder.seen())) return;
  Submit(builder);
}

}  // namespace espalier::ctl::plan
