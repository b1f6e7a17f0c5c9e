// Trainers are one group: one Job per incarnation. When it fails, is deleted or has the wrong size, the next
// incarnation is written to the status, then the Job before it is deleted, and when its pods are gone the next is made.

#include "operator/plan/job_turn.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/restart_policy.h"
#include "operator/plan/stages.h"
#include "operator/plan/trainer_failure.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

// As many as before where the document cannot be read.
int64_t WantedReplicas(const Draft& draft) {
  return draft.training().spec ? draft.spec().job.trainer_replicas : draft.status().trainer_replicas;
}

std::string Replicas(int64_t replicas) { return std::to_string(replicas) + (replicas == 1 ? " trainer" : " trainers"); }

// The numbers alone: a restart that is waiting for its time waits on.
void ResizePending(Draft& draft) {
  api::Status& status = draft.status();
  ++status.incarnation;
  status.trainer_replicas = WantedReplicas(draft);
}

void Resize(Draft& draft, const JobRun& run) {
  const api::Status& status = draft.status();
  if (run.job == nullptr && EarliestStart(status, draft.now())) return ResizePending(draft);
  BeginIncarnation(draft, kScaled,
                   "from " + Replicas(status.trainer_replicas) + " to " + std::to_string(WantedReplicas(draft)));
}

void FollowIncarnation(Draft& draft) {
  const api::Status& status = draft.status();
  const JobRun& run = draft.world().trainer_run(status.incarnation);
  const std::string job = resources::TrainerJobName(draft.name(), status.incarnation);
  const BadInputOnTheWayOut bad_input =
      RunsAProgram(draft) ? BadInputOnTheWayOut::kIsAConsequence : BadInputOnTheWayOut::kIsBelieved;
  if (const std::optional<Failure> settled = SettledFailure(draft, run, bad_input)) {
    const Failure failure = AsItCounts(draft, *run.job, *settled);
    if (MayRetry(draft, Role::kTrainer, failure)) BeginIncarnation(draft, failure.reason, failure.message);
    return;
  }
  if (run.job == nullptr && IsGone(draft, job)) {
    return BeginIncarnation(draft, kJobDeleted, "Job " + job + " was deleted");
  }
  // Nobody ends a group that runs for one that could not be made.
  if (!IsAccepted(draft.training(), draft.seen())) return;
  if (status.trainer_replicas != WantedReplicas(draft) && !IsFailing(run)) Resize(draft, run);
}

void DeleteOldConfigs(Draft& draft) {
  const std::string current = resources::TrainerConfigName(draft.name(), draft.status().incarnation);
  for (const Child& child : draft.world().children()) {
    const std::string& name = child.meta.key.name;
    if (*child.resource != kube::kConfigMaps || name == current) continue;
    if (NumberOf(name, draft.name(), resources::TrainerConfigName)) draft.Delete(kube::kConfigMaps, child.meta);
  }
}

const char* MakeIncarnation(Draft& draft, bool services_are_ready) {
  const int64_t incarnation = draft.status().incarnation;
  const Turn turn = TurnOf(draft, draft.world().trainer_runs(), incarnation);
  DeleteOldConfigs(draft);
  const kube::Job* there = draft.world().trainer_run(incarnation).job;
  const bool runs = there != nullptr && !there->meta.deletion_requested_at;
  if (!runs && !turn.may_start) return turn.waits_for;
  if (!runs && !services_are_ready) return kWaiting;
  if (!draft.training().spec) return turn.waits_for;  // nothing of it can be made
  // Also for pods of it that are still to start. It is immutable: one that is there already is the right one, or
  // nothing could be changed about it.
  const std::string config = resources::TrainerConfigName(draft.name(), incarnation);
  const bool has_config = draft.world().Find(kube::kConfigMaps, config) != nullptr ||
                          draft.Apply(kube::kConfigMaps, resources::TrainerConfigMap(draft.context()));
  if (has_config && turn.may_start) draft.Apply(kube::kJobs, resources::TrainerJob(draft.context()));
  return runs ? turn.waits_for : nullptr;
}

// Programs that are ready or have succeeded, and at least one that is ready: what has succeeded as a whole is seen
// before (outcome.cc). Counted by pods: the Job controller takes a pod that is done out of `ready` at once, but counts
// it among `succeeded` only after its finalizer is gone.
bool AllReady(const JobRun& run) {
  const kube::Job* job = run.job;
  const int64_t ready = CountReady(run);
  return job != nullptr && ready > 0 && ready + CountSucceeded(run) >= job->completions && !IsFailing(run) &&
         !job->meta.deletion_requested_at;
}

// Whether every pod of the group is there and has started its containers: no obstacle is left.
bool AllRun(const JobRun& run) {
  const auto running = std::count_if(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) {
    return !pod->meta.deletion_requested_at &&
           (pod->phase == kube::PodPhase::kRunning || pod->phase == kube::PodPhase::kSucceeded);
  });
  return running >= run.job->completions;
}

void WriteReadiness(Draft& draft, const char* waits_for) {
  const api::Status& status = draft.status();
  const std::string job = resources::TrainerJobName(draft.name(), status.incarnation);
  const JobRun& run = draft.world().trainer_run(status.incarnation);
  if (AllReady(run)) {
    EndRestart(draft, "Job " + job + " runs");
    return draft.Set(api::kTrainersReady, ConditionStatus::kTrue, kAllReady, "Job " + job);
  }
  const api::Condition* before = api::FindCondition(draft.training().status, api::kTrainersReady);
  const bool fails = IsFailing(run);
  std::optional<Obstacle> obstacle;  // the cause of a failure may lie in it (AsItCounts)
  if (run.job != nullptr && !AllRun(run)) obstacle = ObstacleSeen(draft.training().status, job);
  if (fails && obstacle) return;
  if (const std::string holders = HoldersText(run); fails && !holders.empty()) {
    return draft.Set(api::kTrainersReady, ConditionStatus::kFalse, kHeldByContainers, holders);
  }
  std::optional<Trouble> trouble;
  if (waits_for == nullptr && !fails) trouble = TroubleOf(draft, Role::kTrainer);
  if (trouble) return draft.Set(api::kTrainersReady, ConditionStatus::kFalse, trouble->reason, trouble->message);
  const bool was_ready = before != nullptr && before->message == "Job " + job &&
                         (before->status == ConditionStatus::kTrue || before->reason == kNotAllReady);
  const char* under_way = was_ready ? kNotAllReady : kStarting;
  std::string message = obstacle ? MessageWithObstacle(job, *obstacle) : "Job " + job;
  if (waits_for != nullptr) {
    const std::string holders = HoldersText(draft.world().trainer_runs(), status.incarnation);
    message = "Job " + job + (holders.empty() ? "" : ": " + holders);
  }
  draft.Set(api::kTrainersReady, ConditionStatus::kFalse, waits_for != nullptr ? waits_for : under_way, message);
}

}  // namespace

void BeginIncarnation(Draft& draft, const std::string& reason, const std::string& message) {
  api::Status& status = draft.status();
  ++status.incarnation;
  ++status.attempts_total;
  status.trainer_replicas = WantedReplicas(draft);
  // A job that is resumed starts, as the first time; nothing of it had failed.
  if (reason == kResumed || reason.empty()) {
    status.restart_reason = reason;
  } else {
    BeginRestart(draft, reason, message);
  }
}

void Train(Draft& draft, bool services_are_ready) {
  api::Status& status = draft.status();
  if (status.incarnation == 0) {
    if (!services_are_ready) return;
    BeginIncarnation(draft, {}, {});
  }
  FollowIncarnation(draft);
  if (api::IsTerminal(status)) return;
  const char* waits_for = MakeIncarnation(draft, services_are_ready);
  WriteReadiness(draft, waits_for);
}

}  // namespace espalier::ctl::plan
