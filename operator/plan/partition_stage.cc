// The partition Job: one attempt after the other until one has said where the partitions are. It is always made; where
// the partitions exist already it ends at once (the operator has no access to storage). Of several pods each says
// where; they fail as one group, as trainers do.

#include <algorithm>

#include "operator/plan/failure.h"
#include "operator/plan/job_turn.h"
#include "operator/plan/stages.h"
#include "operator/plan/termination_message.h"
#include "operator/resources/names.h"
#include "services/base/exit_code.h"
#include "services/job/places.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

void NextAttempt(Draft& draft, const std::string& reason, const std::string& message) {
  ++draft.status().partition_attempt;
  BeginRestart(draft, reason, message);
}

void FailAttempt(Draft& draft, const Failure& failure) {
  if (MayRetry(draft, Role::kPartitioner, failure)) NextAttempt(draft, failure.reason, failure.message);
}

// What the pod that succeeded left behind.
struct Said {
  bool ended = false;
  std::optional<telemetry::TerminationMessage::Partition> partition;
};
Said WhatWasSaid(const JobRun& run) {
  Said said;
  for (const kube::Pod* pod : run.pods) {
    if (pod->phase != kube::PodPhase::kSucceeded) continue;
    said.ended = true;
    for (const kube::ContainerState& container : pod->containers) {
      if (!container.ended) continue;
      const std::optional<Termination> message = ParseTermination(container.ended->message);
      if (message && message->partition) said.partition = message->partition;
    }
  }
  return said;
}

// A pod that the caches still show at work, of a Job that is complete: they are behind, and its next event brings what
// it said. A limit all the same, for an event that never comes.
std::chrono::seconds PatienceFor(const JobRun& run) {
  const bool is_on_its_way =
      std::any_of(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return !HasEnded(*pod); });
  return is_on_its_way ? std::chrono::seconds(kLongestSilence) : kCollect;
}

void ReadResult(Draft& draft, const JobRun& run) {
  const Said said = WhatWasSaid(run);
  if (said.partition) {
    draft.status().partition =
        api::PartitionStatus{.hash = said.partition->hash,
                             .uri = job::UriBelow(resources::PartitionsPrefix(draft.training()), said.partition->hash),
                             .cut = said.partition->cut,
                             .bytes = static_cast<int64_t>(said.partition->bytes)};
    return;
  }
  if (said.ended) {
    Failure failure;
    failure.reason = telemetry::TerminationReason(ExitCode::kBug);
    failure.message = "the partitioner ended well without saying what it made";
    return FailAttempt(draft, failure);
  }
  // The pod's end may be on its way; or the pod is gone, with what it had to say.
  const kube::WallTime lost_at = run.job->completed_at.value_or(run.job->meta.created_at) + PatienceFor(run);
  if (draft.now() < lost_at) return draft.WakeAt(lost_at);
  Failure failure;
  failure.reason = kResultLost;
  failure.message = "the partitioner's pod was deleted before its result was read";
  FailAttempt(draft, failure);
}

void FollowAttempt(Draft& draft) {
  const int64_t attempt = draft.status().partition_attempt;
  const JobRun& run = draft.world().partition_run(attempt);
  if (run.job == nullptr) {
    // Under a name of its own: several partitioners find what the group of an attempt has left, signs of life too.
    const std::string job = resources::PartitionJobName(draft.name(), attempt);
    if (IsGone(draft, job)) NextAttempt(draft, kJobDeleted, "Job " + job + " was deleted");
    return;
  }
  if (run.job->complete) return ReadResult(draft, run);
  const std::optional<Failure> failure = SettledFailure(draft, run, BadInputOnTheWayOut::kIsBelieved);
  if (failure) return FailAttempt(draft, *failure);
  const bool is_failing = run.job->failure_target || run.job->has_failed;
  if (run.job->ready > 0 && !is_failing) EndRestart(draft, "the partitioner runs again");
}

void MakeAttempt(Draft& draft) {
  const api::Status& status = draft.status();
  const std::string job = resources::PartitionJobName(draft.name(), status.partition_attempt);
  const Turn turn = TurnOf(draft, draft.world().partition_runs(), status.partition_attempt);
  if (turn.may_start) draft.Apply(kube::kJobs, resources::PartitionJob(draft.context()));

  const std::optional<Trouble> trouble = TroubleOf(draft, Role::kPartitioner);
  if (trouble) return draft.Set(api::kPartitioned, ConditionStatus::kFalse, trouble->reason, trouble->message);
  if (turn.waits_for != nullptr) {
    return draft.Set(api::kPartitioned, ConditionStatus::kFalse, turn.waits_for, "before Job " + job);
  }
  draft.Set(api::kPartitioned, ConditionStatus::kFalse, kPartitioning, "Job " + job);
}

}  // namespace

bool Partition(Draft& draft) {
  api::Status& status = draft.status();
  if (status.partition) return true;
  if (status.partition_attempt == 0) status.partition_attempt = 1;
  FollowAttempt(draft);
  if (api::IsTerminal(status)) return false;
  if (!status.partition) {
    MakeAttempt(draft);
    return false;
  }
  EndRestart(draft, "the graph is partitioned");
  draft.Set(api::kPartitioned, ConditionStatus::kTrue, kPartitionFound, status.partition->uri);
  return true;
}

}  // namespace espalier::ctl::plan
