#include <algorithm>

#include "operator/plan/program_pod.h"
#include "operator/plan/stages.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

// Of any incarnation: what a group has finished stays finished, even if the next had been asked for by then. A Job that
// other containers keep from being complete, or make fail, has finished all the same: the outputs are written when the
// programs have ended with 0. The status says so before anything of the Job is deleted (cleanup.cc).
bool HaveTrainersSucceeded(const World& world) {
  const auto& runs = world.trainer_runs();
  return std::any_of(runs.begin(), runs.end(), [](const auto& entry) {
    const JobRun& run = entry.second;
    return (run.job != nullptr && run.job->complete) || HasSucceededDespiteOthers(run);
  });
}

// All programs have succeeded, nothing else holds their pods, and the Job controller is about to say so.
bool IsAboutToBeComplete(const JobRun& run) {
  const kube::Job* const job = run.job;
  if (job == nullptr || job->failure_target || job->has_failed || job->meta.deletion_requested_at) return false;
  return job->success_criteria_met || (job->completions > 0 && CountSucceeded(run) >= job->completions);
}

void End(Draft& draft, const char* type, const std::string& reason, const std::string& message) {
  draft.Set(type, ConditionStatus::kTrue, reason, message);
  draft.status().finished_at = draft.stamp();
  draft.Lower(api::kServersReady, kJobEnded, "the job has ended");
  draft.Lower(api::kTrainersReady, kJobEnded, "the job has ended");
  draft.Lower(api::kRestarting, kJobEnded, "the job has ended");
}

}  // namespace

void Succeed(Draft& draft) {
  draft.status().last_error.reset();
  End(draft, api::kSucceeded, kCompleted, "all trainers have ended and the outputs are complete");
}

void Fail(Draft& draft, const std::string& reason, const std::string& message) {
  End(draft, api::kFailed, reason, message);
}

bool DecideOutcome(Draft& draft) {
  if (HaveTrainersSucceeded(draft.world())) {
    Succeed(draft);
    return true;
  }
  // Neither a suspension nor a deadline takes back what is done. The Job's next event brings the next round.
  const auto& runs = draft.world().trainer_runs();
  const auto is_about_to_be_complete = [](const auto& run) { return IsAboutToBeComplete(run.second); };
  if (std::any_of(runs.begin(), runs.end(), is_about_to_be_complete)) return true;
  // The kubelet would restart them for ever, and the same input gives the same answer.
  for (const Role role : {Role::kServer, Role::kSampler}) {
    const std::optional<Failure> failure = HopelessFailure(draft.world().pods(role));
    if (!failure) continue;
    draft.status().last_error = LastErrorOf(*failure, api::NameOf(role));
    Fail(draft, failure->reason, failure->message);
    return true;
  }
  return false;
}

bool HasRunOutOfTime(Draft& draft) {
  const auto& deadline = draft.run_policy().active_deadline;
  if (!deadline || !draft.status().started_at) return false;
  const kube::WallTime end = *draft.status().started_at + *deadline;
  if (draft.now() < end) {
    draft.WakeAt(end);
    return false;
  }
  Fail(draft, kDeadlineExceeded,
       "the job was active for longer than " + std::to_string(deadline->count()) + " seconds");
  return true;
}

}  // namespace espalier::ctl::plan
