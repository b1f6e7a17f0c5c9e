// The cause of a failing Job is determined after a delay. Pods end within milliseconds of each other, but the cache
// receives these events in any order, and a pod whose deletion was requested disappears when it ends. Therefore causes
// are collected for kCollect (longer if no cause or only consequences are known, shorter if no further or stronger
// cause can follow), and the message of the condition Restarting stores the strongest cause so far. RecordFailure then
// counts the failure or ends the job.
#include "operator/plan/job_failure.h"

#include <algorithm>

#include "operator/plan/cleanup.h"
#include "operator/plan/outcome.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/restart_policy.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;

// Returns whether the pods of all indexes have ended, so that no further cause can arrive.
bool AllHaveEnded(const JobRun& run) {
  const auto ended =
      std::count_if(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return ProgramHasEnded(*pod); });
  return ended >= run.job->completions && ended == static_cast<int64_t>(run.pods.size());
}

// Returns whether the program of at least one pod still runs. Usually the Job controller has requested the pod's
// deletion: on a live node the pod ends within its grace period, which trainers may use for minutes to save a
// checkpoint; on a lost node it is deleted by force (cleanup.cc).
bool HasRunningPrograms(const JobRun& run) {
  return std::any_of(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return !ProgramHasEnded(*pod); });
}

bool HasPodToForceDelete(const PlanBuilder& builder, const JobRun& run) {
  return std::any_of(run.pods.begin(), run.pods.end(), [&](const kube::Pod* pod) {
    const std::optional<kube::WallTime> at = ForceDeleteAt(builder, *pod);
    return !ProgramHasEnded(*pod) && at && *at <= builder.now();
  });
}

Failure NodeLostFailure(const kube::Job& job) {
  Failure failure;
  failure.retry = Retry::kNotCounted;
  failure.reason = kNodeLost;
  failure.message =
      "a pod of Job " + job.meta.key.name + " did not end after its deletion was requested: its node is lost";
  return failure;
}

// Makes the Job fail by deleting two kinds of pods: those in which one trainer has failed while another still runs, and
// those whose program has failed while a sidecar still runs (held pods, program_pod.h). Without the deletion the Job
// would not fail, because the Job controller considers these pods to be running, and the other pods would keep running.
// The cause is not lost with the pods: the message of the condition Restarting already names it (CollectingText).
void FailJobOfHeldPods(PlanBuilder& builder, const JobRun& run) {
  if (run.job->failure_target || run.job->has_failed) return;
  for (const kube::Pod* pod : run.pods) {
    if (pod->meta.deletion_requested_at) continue;
    if (HasPartlyFailed(*pod)) {
      builder.Delete(kube::kPods, pod->meta);  // with the grace period of the pod, for trainers that save a checkpoint
    } else if (IsHeld(*pod) && !ProgramHasSucceeded(*pod)) {
      DeleteHeldPod(builder, *pod);
    }
  }
}

// Returns the time at which the operator first saw this failure, by the operator's clock: the clocks of kubelets
// differ.
std::optional<kube::WallTime> CollectingSince(const api::Status& status, kube::WallTime now) {
  const api::Condition* restarting = api::FindCondition(status, api::kRestarting);
  if (restarting == nullptr || restarting->reason != kCollecting) return std::nullopt;
  return std::min(restarting->last_transition, now);  // the clock may have been set back
}

// Returns the message of the condition Restarting while causes are collected. The overload below appends the strongest
// cause so far, because the termination message of a pod is lost when the pod is deleted.
std::string CollectingText(const kube::Job& job) { return "Job " + job.meta.key.name + " is failing"; }
constexpr char kSeenSoFar[] = "; seen so far: ";

std::string CollectingText(const kube::Job& job, const std::optional<Failure>& strongest) {
  return strongest ? CollectingText(job) + kSeenSoFar + strongest->reason : CollectingText(job);
}

std::optional<Failure> ReadStrongestCause(const api::Status& status, const kube::Job& job) {
  const api::Condition* restarting = api::FindCondition(status, api::kRestarting);
  if (restarting == nullptr || restarting->reason != kCollecting) return std::nullopt;
  const std::string prefix = CollectingText(job) + kSeenSoFar;
  if (restarting->message.rfind(prefix, 0) != 0) return std::nullopt;
  return FailureOfDeletedPod(restarting->message.substr(prefix.size()));
}

// Sets Restarting as a new condition, so that its transition time is that of this restart, not of an earlier one.
void SetRestarting(PlanBuilder& builder, const std::string& reason, const std::string& message) {
  std::erase_if(builder.status().conditions,
                [](const api::Condition& condition) { return condition.type == api::kRestarting; });
  builder.SetCondition(api::kRestarting, ConditionStatus::kTrue, reason, message);
}

bool WasSeenBefore(const api::DistTraining& training, const std::string& job) {
  const std::vector<api::ChildRef>& children = training.status.child_refs;
  return std::find(children.begin(), children.end(), api::ChildRef{std::string(kube::kJobs.kind), job}) !=
         children.end();
}

Failure UnexplainedFailure(const kube::Job& job) {
  Failure failure;
  failure.retry = Retry::kCounted;
  failure.reason = kNoEvidence;
  failure.message = "Job " + job.meta.key.name + " failed, and none of its pods reports a cause";
  if (!job.failure_message.empty()) failure.message += ": " + job.failure_message;
  return failure;
}

}  // namespace

std::optional<Failure> SettledFailure(PlanBuilder& builder, const JobRun& run, BadInputDuringDeletion bad_input) {
  if (run.job == nullptr || run.job->meta.deletion_requested_at) return std::nullopt;
  if (!IsFailing(run)) return std::nullopt;
  std::optional<Failure> strongest =
      PickStronger(StrongestFailure(run.pods, bad_input), ReadStrongestCause(builder.status(), *run.job));
  if (strongest && (strongest->retry == Retry::kNever || AllHaveEnded(run))) return strongest;

  const std::optional<kube::WallTime> since = CollectingSince(builder.status(), builder.now());
  if (!since) {
    SetRestarting(builder, kCollecting, CollectingText(*run.job, strongest));
    builder.RequeueAt(builder.stamp() + kCollect);
    return std::nullopt;
  }
  builder.SetCondition(api::kRestarting, ConditionStatus::kTrue, kCollecting, CollectingText(*run.job, strongest));
  if (builder.now() < *since + kCollect) {
    builder.RequeueAt(*since + kCollect);
    return std::nullopt;
  }
  if (!strongest || IsSecondary(*strongest)) {
    if (HasPodToForceDelete(builder, run)) return NodeLostFailure(*run.job);
    const kube::WallTime give_up_at = *since + kMaxSilence;
    if (HasRunningPrograms(run) && builder.now() < give_up_at) {
      FailJobOfHeldPods(builder, run);
      builder.RequeueAt(give_up_at);
      return std::nullopt;
    }
  }
  if (strongest) return strongest;
  return UnexplainedFailure(*run.job);
}

std::vector<std::string> EndedWithoutPods(const api::DistTraining& training, const World& world) {
  std::vector<std::string> jobs;
  const auto check = [&jobs](const JobRun& run) {
    if (run.job == nullptr || !run.pods.empty() || run.job->meta.deletion_requested_at) return;
    if (run.job->complete || run.job->failure_target || run.job->has_failed) jobs.push_back(run.job->meta.key.name);
  };
  if (!training.status.partition) check(world.partition_run(training.status.partition_attempt));
  check(world.trainer_run(training.status.incarnation));
  return jobs;
}

std::vector<std::string> VanishedJobs(const api::DistTraining& training, const World& world) {
  const api::Status& status = training.status;
  std::vector<std::string> jobs;
  const auto check = [&](const JobRun& run, const std::string& job) {
    if (run.job == nullptr && WasSeenBefore(training, job)) jobs.push_back(job);
  };
  const std::string& name = training.meta.key.name;
  const int64_t attempt = status.partition_attempt;
  if (!status.partition) check(world.partition_run(attempt), resources::PartitionJobName(name, attempt));
  check(world.trainer_run(status.incarnation), resources::TrainerJobName(name, status.incarnation));
  return jobs;
}

bool IsConfirmedDeleted(const PlanBuilder& builder, const std::string& job) {
  const std::vector<std::string>& gone = builder.seen().confirmed_gone;
  return std::find(gone.begin(), gone.end(), job) != gone.end();
}

bool RecordFailure(PlanBuilder& builder, api::Role role, const Failure& failure) {
  api::Status& status = builder.status();
  status.last_error = ToLastError(failure, api::ToString(role));
  if (failure.retry == Retry::kNever) {
    Fail(builder, failure.reason, failure.message);
    return false;
  }
  if (failure.retry == Retry::kNotCounted) return true;
  ++status.attempts_counted;
  if (!IsExhausted(status, builder.run_policy().backoff_limit)) return true;
  Fail(builder, kBackoffLimitExceeded,
       std::to_string(status.attempts_counted) + " failures, the last: " + failure.reason + ": " + failure.message);
  return false;
}

void BeginRestart(PlanBuilder& builder, const std::string& reason, const std::string& message) {
  builder.status().restart_reason = reason;
  SetRestarting(builder, reason, message);
}

void EndRestart(PlanBuilder& builder, const std::string& message) {
  if (api::IsTrue(builder.status(), api::kRestarting)) {
    builder.SetCondition(api::kRestarting, ConditionStatus::kFalse, kRecovered, message);
  }
}

}  // namespace espalier::ctl::plan
