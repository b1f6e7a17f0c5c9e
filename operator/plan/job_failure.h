// Handles failed Jobs: why they failed, and whether another attempt follows.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// How long causes are collected after a Job begins to fail.
inline constexpr std::chrono::seconds kCollect{3};
// The longest wait for pods that are still ending while no failures, or only consequences of other failures
// (IsSecondary), have been reported. It is long enough for a grace period and a forced deletion.
inline constexpr std::chrono::minutes kMaxSilence{10};
// Returns why the Job fails, or nullopt if it does not fail or is being deleted, or while causes are being collected.
// Collecting ends at once if a pod has reported a failure that forbids a retry, or if a pod has reported a failure and
// all pods have ended. Otherwise it ends after kCollect if a pod has reported a failure that is more than a consequence
// of another pod's failure (IsSecondary). If not, it continues while pods are still ending, until one of them has to be
// deleted by force (cleanup.h), but for at most kMaxSilence. `bad_input` determines whether exit code 64 or 65 of a pod
// whose deletion had been requested is the cause of the failure or a consequence (failure.h).
std::optional<Failure> SettledFailure(PlanBuilder& builder, const JobRun& run, BadInputDuringDeletion bad_input);
// Returns the names of those current Jobs (of the current attempt and incarnation) that have ended or are failing, and
// of which the cache has no pods. Either the pods were deleted, and their termination messages are lost, or the cache
// is stale.
std::vector<std::string> EndedWithoutPods(const api::DistTraining& training, const World& world);
// Returns the names of the current Jobs that were seen before and that the caches do not show: the caches may be stale.
std::vector<std::string> VanishedJobs(const api::DistTraining& training, const World& world);
// Returns whether the API server has answered that `job`, one of VanishedJobs, does not exist.
bool IsConfirmedDeleted(const PlanBuilder& builder, const std::string& job);
// Writes the failure to last_error. Fails the job if the failure must not be retried. Otherwise counts the failure,
// unless it is exempt (Retry::kNotCounted), and fails the job if backoffLimit is exceeded. Returns whether another
// attempt may follow.
bool RecordFailure(PlanBuilder& builder, api::Role role, const Failure& failure);
// Sets restart_reason and the condition Restarting. The reason and message say why the next attempt begins. The
// condition's transition time is the start of the delay before that attempt.
void BeginRestart(PlanBuilder& builder, const std::string& reason, const std::string& message);
// Sets Restarting to False if it is True.
void EndRestart(PlanBuilder& builder, const std::string& message);

}  // namespace espalier::ctl::plan
