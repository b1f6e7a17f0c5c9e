// Handles failed Jobs: why they failed, and whether another attempt follows.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// How long causes are collected after a Job begins to fail.
inline constexpr std::chrono::seconds kCollect{3};
// The longest wait for pods that are still ending while none has given a cause: a grace period and a forced deletion.
inline constexpr std::chrono::minutes kLongestSilence{10};
// Returns why the Job fails, once no stronger cause can arrive: after kCollect, and after pods that are still ending if
// none of the others gives a cause. nullopt while causes are being collected, and if the Job does not fail. `bad_input`
// says how pods that end with BadInput count.
std::optional<Failure> SettledFailure(PlanBuilder& builder, const JobRun& run, BadInputOnTheWayOut bad_input);
// Returns the names of current Jobs that have ended or are failing and of which the cache shows no pod: the pods may be
// gone, with their termination messages, or the cache is stale.
std::vector<std::string> EndedWithoutPods(const api::DistTraining& training, const World& world);
// Returns the names of Jobs that were seen before and that the caches do not show: the caches may be stale.
std::vector<std::string> VanishedJobs(const api::DistTraining& training, const World& world);
// Returns whether the API server has answered that `job`, one of VanishedJobs, does not exist.
bool IsGone(const PlanBuilder& builder, const std::string& job);
// Counts the failure, and fails the job if it may not be retried. Returns whether another attempt may follow.
bool MayRetry(PlanBuilder& builder, api::Role role, const Failure& failure);
// Sets the condition Restarting: why the next attempt begins, and the time from which its delay counts.
void BeginRestart(PlanBuilder& builder, const std::string& reason, const std::string& message);
// Sets Restarting to False if it is True.
void EndRestart(PlanBuilder& builder, const std::string& message);

}  // namespace espalier::ctl::plan
