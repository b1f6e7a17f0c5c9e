#include <algorithm>

#include "operator/plan/stages.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

// Of any incarnation: what a group has finished stays finished, even if the next had been asked for by then.
const kube::Job* CompleteTrainerJob(const World& world) {
  for (const auto& [incarnation, run] : world.trainer_runs()) {
    if (run.job != nullptr && run.job->complete) return run.job;
  }
  return nullptr;
}

// All its pods have ended well, and the Job controller is about to say so. (That a trainer has ended by itself is not
// enough: what else is in its pod may run on for ever.)
bool IsAboutToBeComplete(const JobRun& run) {
  const kube::Job* const job = run.job;
  if (job == nullptr || job->failure_target || job->has_failed || job->meta.deletion_requested_at) return false;
  if (job->success_criteria_met) return true;
  const int64_t succeeded = std::count_if(
      run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return pod->phase == kube::PodPhase::kSucceeded; });
  return job->completions > 0 && std::max(job->succeeded, succeeded) >= job->completions;
}

// The outputs are complete. What else is in the trainers' pods may run on for ever.
bool AllTrainersAreDone(const Draft& draft) {
  const JobRun& run = draft.world().trainer_run(draft.status().incarnation);
  if (run.job == nullptr || run.job->failure_target || run.job->has_failed) return false;
  return run.job->completions > 0 && TrainersDone(run) >= run.job->completions;
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
  if (CompleteTrainerJob(draft.world()) != nullptr) {
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
  if (AllTrainersAreDone(draft)) return false;
  Fail(draft, kDeadlineExceeded,
       "the job was active for longer than " + std::to_string(deadline->count()) + " seconds");
  return true;
}

}  // namespace espalier::ctl::plan
