// Runs attempts of the partition Job until one has reported where the partitions are. The operator has no access to
// storage, so it always creates the Job; if the partitions exist already, the Job ends at once. If the Job has several
// pods, each reports the location, and one failed pod fails the attempt.
#include "operator/plan/partition_stage.h"

#include <algorithm>

#include "operator/api/program_container.h"
#include "operator/plan/blockers.h"
#include "operator/plan/failure.h"
#include "operator/plan/gangs.h"
#include "operator/plan/job_failure.h"
#include "operator/plan/job_start.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/termination_message.h"
#include "operator/resources/names.h"
#include "services/base/exit_code.h"
#include "services/job/places.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

void NextAttempt(PlanBuilder& builder, const std::string& reason, const std::string& message) {
  ++builder.status().partition_attempt;
  BeginRestart(builder, reason, message);
}

void FailAttempt(PlanBuilder& builder, const Failure& failure) {
  if (RecordFailure(builder, Role::kPartitioner, failure)) NextAttempt(builder, failure.reason, failure.message);
}

// The reports in termination messages. Only pods whose program has succeeded count.
struct PartitionerResult {
  bool has_succeeded = false;  // at least one program
  std::optional<telemetry::TerminationMessage::Partition> partition;
};
PartitionerResult ReadPartitionerMessages(const JobRun& run) {
  PartitionerResult result;
  for (const kube::Pod* pod : run.pods) {
    if (!ProgramHasSucceeded(*pod)) continue;
    result.has_succeeded = true;
    for (const kube::ContainerState& container : pod->containers) {
      if (!container.ended || !IsProgramContainer(*pod, container)) continue;
      const std::optional<Termination> message = ParseTermination(container.ended->message);
      if (message && message->partition) result.partition = message->partition;
    }
  }
  return result;
}

// Returns how long to wait for the result of a Job after its completion, before the result counts as lost. If the
// caches still show a running pod, they are stale, and the pod's next watch event brings the result. The wait is then
// long, because the event may come late, but limited, because it may never come.
std::chrono::seconds ResultTimeout(const JobRun& run) {
  const bool result_may_arrive =
      std::any_of(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return !HasEnded(*pod); });
  return result_may_arrive ? std::chrono::seconds(kMaxSilence) : kCollect;
}

const job::Script* FindScript(const PlanBuilder& builder) {
  const std::optional<job::Program>& program = builder.spec().job.program;
  return program && program->script ? &*program->script : nullptr;
}

// Stores the digest of the script that a pod of this attempt has read, unless a digest is stored already. Every later
// pod compares the digest of its script with the stored one.
void StoreScriptDigest(PlanBuilder& builder, const JobRun& run) {
  const job::Script* const script = FindScript(builder);
  if (script == nullptr || builder.status().script) return;
  for (const kube::Pod* pod : run.pods) {
    for (const kube::ContainerState& container : pod->containers) {
      if (container.name != api::kScriptContainer || !container.ended || !container.ended->succeeded()) continue;
      const std::optional<Termination> termination = ParseTermination(container.ended->message);
      if (!termination || termination->script_sha256.empty()) continue;
      builder.status().script = api::ScriptStatus{.source = script->Describe(), .sha256 = termination->script_sha256};
      return;
    }
  }
}

void ReadResult(PlanBuilder& builder, const JobRun& run) {
  const PartitionerResult result = ReadPartitionerMessages(run);
  if (result.partition && FindScript(builder) != nullptr && !builder.status().script) {
    Failure failure;
    failure.reason = kResultLost;
    failure.message = "no pod of the partitioner reports which script it has read";
    return FailAttempt(builder, failure);
  }
  if (result.partition) {
    builder.status().partition = api::PartitionStatus{
        .hash = result.partition->hash,
        .uri = job::UriBelow(resources::PartitionsPrefix(builder.training()), result.partition->hash),
        .cut = result.partition->cut,
        .bytes = static_cast<int64_t>(result.partition->bytes)};
    return;
  }
  if (result.has_succeeded) {
    Failure failure;
    failure.reason = telemetry::TerminationReason(ExitCode::kBug);
    failure.message = "the partitioner succeeded without reporting its result";
    return FailAttempt(builder, failure);
  }
  // Either the end of the pod has not reached the cache yet, or the pod is gone, and its result with it.
  const kube::WallTime lost_at = run.job->completed_at.value_or(run.job->meta.created_at) + ResultTimeout(run);
  if (builder.now() < lost_at) return builder.RequeueAt(lost_at);
  Failure failure;
  failure.reason = kResultLost;
  failure.message = "the partitioner's pod was deleted before its result was read";
  FailAttempt(builder, failure);
}

void FollowAttempt(PlanBuilder& builder) {
  const int64_t attempt = builder.status().partition_attempt;
  const JobRun& run = builder.world().partition_run(attempt);
  StoreScriptDigest(builder, run);
  if (run.job == nullptr) {
    // The name by which partitioners find each other in the store contains the attempt's number (partition_job.cc).
    // With the old number they would find the files of the deleted Job's partitioners, including heartbeats.
    const std::string job = resources::PartitionJobName(builder.name(), attempt);
    if (IsConfirmedDeleted(builder, job)) NextAttempt(builder, kJobDeleted, "Job " + job + " was deleted");
    return;
  }
  if (run.job->complete || HasSucceededDespiteOthers(run)) return ReadResult(builder, run);
  const std::optional<Failure> failure = SettledFailure(builder, run, BadInputDuringDeletion::kIsTrusted);
  if (failure) return FailAttempt(builder, *failure);
  if (CountReady(run) > 0 && !IsFailing(run)) EndRestart(builder, "the partitioner runs again");
}

void MakeAttempt(PlanBuilder& builder) {
  const api::Status& status = builder.status();
  const std::string job = resources::PartitionJobName(builder.name(), status.partition_attempt);
  const JobStart start = DeleteOtherJobs(builder, builder.world().partition_runs(), status.partition_attempt);
  const bool is_due = start.may_start || builder.world().partition_run(status.partition_attempt).job != nullptr;
  if (is_due && PlanGang(builder, Role::kPartitioner) && start.may_start) {
    builder.Apply(kube::kJobs, resources::PartitionJob(builder.context()));
  }

  const std::optional<Blocker> blocker = BlockerFor(builder, Role::kPartitioner);
  if (blocker)
    return builder.SetCondition(api::kPartitioned, ConditionStatus::kFalse, blocker->reason, blocker->message);
  const JobRun& run = builder.world().partition_run(status.partition_attempt);
  if (const std::string holders = HoldersText(run); IsFailing(run) && !holders.empty()) {
    return builder.SetCondition(api::kPartitioned, ConditionStatus::kFalse, kHeldByContainers, holders);
  }
  if (start.waits_for != nullptr) {
    const std::string holders = HoldersText(builder.world().partition_runs(), status.partition_attempt);
    return builder.SetCondition(api::kPartitioned, ConditionStatus::kFalse, start.waits_for,
                                "Job " + job + " cannot start yet" + (holders.empty() ? "" : ": " + holders));
  }
  builder.SetCondition(api::kPartitioned, ConditionStatus::kFalse, kPartitioning, "Job " + job);
}

// Sets Partitioned to True. If only held pods (program_pod.h) still keep a Job from completing when the condition has
// been True for kHeldPodGrace, deletes the Job, unless cleanPodPolicy is None. The whole Job is deleted, because a held
// pod that is deleted alone would count as failed, with a Warning event.
void WriteResult(PlanBuilder& builder) {
  std::string message = builder.status().partition->uri;
  const auto& runs = builder.world().partition_runs();
  if (const std::string holders = HoldersText(runs, /*except=*/0); !holders.empty()) message += "; " + holders;
  builder.SetCondition(api::kPartitioned, ConditionStatus::kTrue, kPartitionFound, message);
  if (builder.run_policy().clean_pod_policy == api::CleanPodPolicy::kNone) return;
  const kube::WallTime due = api::FindCondition(builder.status(), api::kPartitioned)->last_transition + kHeldPodGrace;
  for (const auto& [attempt, run] : runs) {
    if (run.job == nullptr || !IsHeldOnlyByOtherContainers(run)) continue;
    if (builder.now() < due) {
      builder.RequeueAt(due);
    } else {
      builder.Delete(kube::kJobs, run.job->meta, kube::Propagation::kForeground);
    }
  }
}

}  // namespace

bool Partition(PlanBuilder& builder) {
  api::Status& status = builder.status();
  if (status.partition) {
    WriteResult(builder);
    return true;
  }
  if (status.partition_attempt == 0) status.partition_attempt = 1;
  FollowAttempt(builder);
  if (api::IsTerminal(status)) return false;
  if (!status.partition) {
    MakeAttempt(builder);
    return false;
  }
  EndRestart(builder, "the graph is partitioned");
  WriteResult(builder);
  return true;
}

}  // namespace espalier::ctl::plan
