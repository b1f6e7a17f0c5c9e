// Success takes precedence over failure. The checks in order: the job succeeds if a trainer Job is complete, or if its
// programs have all succeeded but the Job controller may never report it; the decision is deferred if a trainer Job is
// about to be complete; the job fails if servers or samplers cannot recover.
#include "operator/plan/outcome.h"

#include <algorithm>

#include "operator/plan/program_pod.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

// Returns whether the trainers of any incarnation have succeeded: their outputs remain, even if the next incarnation
// has begun meanwhile. A Job also counts if other containers prevent its completion or make it fail, because the
// outputs are complete when the programs have ended with 0. The status is written before anything of the Job is deleted
// (cleanup.cc).
bool HaveTrainersSucceeded(const World& world) {
  const auto& runs = world.trainer_runs();
  return std::any_of(runs.begin(), runs.end(), [](const auto& entry) {
    const JobRun& run = entry.second;
    return (run.job != nullptr && run.job->complete) || HasSucceededDespiteOthers(run);
  });
}

// Returns whether all programs have succeeded and the Job controller is about to report it. HaveTrainersSucceeded must
// be false: otherwise another container may hold a pod, and the Job controller would not report it.
bool IsAboutToBeComplete(const JobRun& run) {
  const kube::Job* const job = run.job;
  if (job == nullptr || job->failure_target || job->has_failed || job->meta.deletion_requested_at) return false;
  return job->success_criteria_met || (job->completions > 0 && CountSucceeded(run) >= job->completions);
}

void End(PlanBuilder& builder, const char* type, const std::string& reason, const std::string& message) {
  builder.SetCondition(type, ConditionStatus::kTrue, reason, message);
  builder.status().finished_at = builder.stamp();
  builder.ClearCondition(api::kQuotaReserved, kJobEnded, "the job has ended");
  builder.ClearCondition(api::kServersReady, kJobEnded, "the job has ended");
  builder.ClearCondition(api::kTrainersReady, kJobEnded, "the job has ended");
  builder.ClearCondition(api::kRestarting, kJobEnded, "the job has ended");
}

}  // namespace

void Succeed(PlanBuilder& builder) {
  builder.status().last_error.reset();
  End(builder, api::kSucceeded, kCompleted, "all trainers have ended and the outputs are complete");
}

void Fail(PlanBuilder& builder, const std::string& reason, const std::string& message) {
  End(builder, api::kFailed, reason, message);
}

bool DecideOutcome(PlanBuilder& builder) {
  if (HaveTrainersSucceeded(builder.world())) {
    Succeed(builder);
    return true;
  }
  // Neither a suspension nor a deadline revokes a success. The Job's next event triggers another reconcile.
  const auto& runs = builder.world().trainer_runs();
  const auto is_about_to_be_complete = [](const auto& run) { return IsAboutToBeComplete(run.second); };
  if (std::any_of(runs.begin(), runs.end(), is_about_to_be_complete)) return true;
  // The kubelet would restart servers and samplers with a permanent failure forever.
  for (const Role role : {Role::kServer, Role::kSampler}) {
    const std::optional<Failure> failure = FindPermanentFailure(builder.world().pods(role));
    if (!failure) continue;
    builder.status().last_error = ToLastError(*failure, api::ToString(role));
    Fail(builder, failure->reason, failure->message);
    return true;
  }
  return false;
}

bool FailAfterDeadline(PlanBuilder& builder) {
  const auto& deadline = builder.run_policy().active_deadline;
  if (!deadline || !builder.status().started_at) return false;
  const kube::WallTime end = *builder.status().started_at + *deadline;
  if (builder.now() < end) {
    builder.RequeueAt(end);
    return false;
  }
  Fail(builder, kDeadlineExceeded,
       "the job was active for longer than " + std::to_string(deadline->count()) + " seconds");
  return true;
}

}  // namespace espalier::ctl::plan
