// Trainers are one group with one Job per incarnation. When the Job fails, is deleted or has the wrong size, the next
// incarnation is written to the status, then the old Job is deleted, and when it no longer exists and none of its pods
// runs, the next Job is created.

#include "operator/plan/trainer_stage.h"

#include "operator/plan/acceptance.h"
#include "operator/plan/blockers.h"
#include "operator/plan/gangs.h"
#include "operator/plan/job_failure.h"
#include "operator/plan/job_start.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/quota.h"
#include "operator/plan/restart_policy.h"
#include "operator/plan/trainer_failure.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

// Returns the number of trainers that the next incarnation should have. Keeps the current number while the document is
// invalid or Kueue's decision is unknown.
int64_t WantedReplicas(const PlanBuilder& builder) {
  const int64_t current = builder.status().trainer_replicas;
  if (!builder.training().spec) return current;
  const int64_t wanted = builder.spec().job.trainer_replicas;
  if (!IsQueued(builder.training())) return wanted;
  if (!IsQueueKnown(builder.seen())) return current > 0 ? current : wanted;
  return std::min(wanted, AdmittedTrainers(builder.training(), builder.seen()).value_or(wanted));
}

std::string CountText(int64_t replicas) {
  return std::to_string(replicas) + (replicas == 1 ? " trainer" : " trainers");
}

// Changes only the incarnation and the number of trainers: a restart that waits for its backoff keeps waiting.
void ResizePending(PlanBuilder& builder) {
  api::Status& status = builder.status();
  ++status.incarnation;
  status.trainer_replicas = WantedReplicas(builder);
}

void Resize(PlanBuilder& builder, const JobRun& run) {
  const api::Status& status = builder.status();
  if (run.job == nullptr && EarliestStart(status, builder.now())) return ResizePending(builder);
  BeginIncarnation(builder, kScaled,
                   "from " + CountText(status.trainer_replicas) + " to " + std::to_string(WantedReplicas(builder)));
}

void FollowIncarnation(PlanBuilder& builder) {
  const api::Status& status = builder.status();
  const JobRun& run = builder.world().trainer_run(status.incarnation);
  const std::string job = resources::TrainerJobName(builder.name(), status.incarnation);
  const BadInputDuringDeletion bad_input =
      HasUserProgram(builder) ? BadInputDuringDeletion::kIsSecondary : BadInputDuringDeletion::kIsTrusted;
  if (const std::optional<Failure> settled = SettledFailure(builder, run, bad_input)) {
    const Failure failure = ClassifyTrainerFailure(builder, *run.job, *settled);
    if (RecordFailure(builder, Role::kTrainer, failure)) BeginIncarnation(builder, failure.reason, failure.message);
    return;
  }
  if (run.job == nullptr && IsConfirmedDeleted(builder, job)) {
    return BeginIncarnation(builder, kJobDeleted, "Job " + job + " was deleted");
  }
  // A running group is not ended for a size that might be refused.
  if (!IsAccepted(builder.training(), builder.seen())) return;
  if (status.trainer_replicas != WantedReplicas(builder) && !IsFailing(run)) Resize(builder, run);
}

void DeleteOldConfigs(PlanBuilder& builder) {
  const std::string current = resources::TrainerConfigName(builder.name(), builder.status().incarnation);
  for (const Child& child : builder.world().children()) {
    const std::string& name = child.meta.key.name;
    if (*child.resource != kube::kConfigMaps || name == current) continue;
    if (ParseNumberInName(name, builder.name(), resources::TrainerConfigName))
      builder.Delete(kube::kConfigMaps, child.meta);
  }
}

// Plans the children of the current incarnation. Returns the reason why its Job cannot be created yet; null: the Job
// exists or is planned, or another problem keeps it from being created.
const char* MakeIncarnation(PlanBuilder& builder, bool services_are_ready) {
  const int64_t incarnation = builder.status().incarnation;
  const JobStart start = DeleteOtherJobs(builder, builder.world().trainer_runs(), incarnation);
  DeleteOldConfigs(builder);
  const kube::Job* existing = builder.world().trainer_run(incarnation).job;
  const bool runs = existing != nullptr && !existing->meta.deletion_requested_at;
  if (!runs && !start.may_start) return start.waits_for;
  if (!runs && !services_are_ready) return kWaiting;
  if (!builder.training().spec) return start.waits_for;  // nothing can be rendered without a document
  // The ConfigMap is applied while the Job runs too, because pods that have not started need it. It is immutable, so an
  // existing one is not applied again.
  const std::string config = resources::TrainerConfigName(builder.name(), incarnation);
  const bool has_config = builder.world().Find(kube::kConfigMaps, config) != nullptr ||
                          builder.Apply(kube::kConfigMaps, resources::TrainerConfigMap(builder.context()));
  const bool may_start = PlanGang(builder, Role::kTrainer) && has_config && start.may_start;
  if (may_start) builder.Apply(kube::kJobs, resources::TrainerJob(builder.context()));
  return runs ? start.waits_for : nullptr;
}

// Returns whether the program containers of every pod are ready or have succeeded, and those of at least one pod are
// ready. A group whose programs have all succeeded is handled before (outcome.cc). The numbers in the Job's status
// alone would not suffice, so pods are counted too: the Job controller removes a finished pod from `ready` at once, but
// adds it to `succeeded` only after the pod's finalizer is gone.
bool AllReady(const JobRun& run) {
  const kube::Job* job = run.job;
  const int64_t ready = CountReady(run);
  return job != nullptr && ready > 0 && ready + CountSucceeded(run) >= job->completions && !IsFailing(run) &&
         !job->meta.deletion_requested_at;
}

// Returns whether every pod of the group exists and has started its containers, so that no blocker is left.
bool AllRun(const JobRun& run) {
  const auto running = std::count_if(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) {
    return !pod->meta.deletion_requested_at &&
           (pod->phase == kube::PodPhase::kRunning || pod->phase == kube::PodPhase::kSucceeded);
  });
  return running >= run.job->completions;
}

void WriteReadiness(PlanBuilder& builder, const char* waits_for) {
  const api::Status& status = builder.status();
  const std::string job = resources::TrainerJobName(builder.name(), status.incarnation);
  const JobRun& run = builder.world().trainer_run(status.incarnation);
  if (AllReady(run)) {
    EndRestart(builder, "Job " + job + " runs");
    return builder.SetCondition(api::kTrainersReady, ConditionStatus::kTrue, kAllReady, "Job " + job);
  }
  const api::Condition* before = api::FindCondition(builder.training().status, api::kTrainersReady);
  const bool fails = IsFailing(run);
  std::optional<StoredBlocker> stored;  // may be the cause of a failure (ClassifyTrainerFailure)
  if (run.job != nullptr && !AllRun(run)) stored = ReadStoredBlocker(builder.training().status, job);
  if (fails && stored) return;
  if (const std::string holders = HoldersText(run); fails && !holders.empty()) {
    return builder.SetCondition(api::kTrainersReady, ConditionStatus::kFalse, kHeldByContainers, holders);
  }
  std::optional<Blocker> blocker;
  if (waits_for == nullptr && !fails) blocker = BlockerFor(builder, Role::kTrainer);
  if (blocker)
    return builder.SetCondition(api::kTrainersReady, ConditionStatus::kFalse, blocker->reason, blocker->message);
  const bool was_ready = before != nullptr && before->message == "Job " + job &&
                         (before->status == ConditionStatus::kTrue || before->reason == kNotAllReady);
  const char* unready_reason = was_ready ? kNotAllReady : kStarting;
  std::string message = stored ? MessageWithBlocker(job, *stored) : "Job " + job;
  if (waits_for != nullptr) {
    const std::string holders = HoldersText(builder.world().trainer_runs(), status.incarnation);
    message = "Job " + job + (holders.empty() ? "" : ": " + holders);
  }
  builder.SetCondition(api::kTrainersReady, ConditionStatus::kFalse, waits_for != nullptr ? waits_for : unready_reason,
                       message);
}

}  // namespace

void BeginIncarnation(PlanBuilder& builder, const std::string& reason, const std::string& message) {
  api::Status& status = builder.status();
  ++status.incarnation;
  ++status.attempts_total;
  status.trainer_replicas = WantedReplicas(builder);
  // Neither the first start nor the start of a resumed job is a restart.
  if (reason == kResumed || reason.empty()) {
    status.restart_reason = reason;
  } else {
    BeginRestart(builder, reason, message);
  }
}

void Train(PlanBuilder& builder, bool services_are_ready) {
  api::Status& status = builder.status();
  if (status.incarnation == 0) {
    if (!services_are_ready) return;
    BeginIncarnation(builder, {}, {});
  }
  FollowIncarnation(builder);
  if (api::IsTerminal(status)) return;
  const char* waits_for = MakeIncarnation(builder, services_are_ready);
  WriteReadiness(builder, waits_for);
}

}  // namespace espalier::ctl::plan
