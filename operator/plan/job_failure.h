// Failed Jobs: why they failed, and whether another attempt follows.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Why the Job fails, once nothing stronger can come: a Job that begins to fail is followed for kCollect, while its
// pods' ends arrive, and for as long as none of them tells a cause while others are still ending. nullopt: it does not
// fail, or its reasons are still being collected. `bad_input`: of its pods.
inline constexpr std::chrono::seconds kCollect{3};
// How long at most pods are waited for that are still ending: a grace period and a forced deletion.
inline constexpr std::chrono::minutes kLongestSilence{10};
std::optional<Failure> SettledFailure(PlanBuilder& builder, const JobRun& run, BadInputOnTheWayOut bad_input);
// Names of the Jobs under way that have ended, or are failing, and of which the cache shows no pod: they may be gone,
// with what they had to say, or the cache is behind.
std::vector<std::string> EndedWithoutPods(const api::DistTraining& training, const World& world);
// Names of those that were seen before and that the caches do not show: they may only be behind.
std::vector<std::string> VanishedJobs(const api::DistTraining& training, const World& world);
// Whether the API server has said of one of these that it is not there.
bool IsGone(const PlanBuilder& builder, const std::string& job);
// Counts, and fails the job where it may not be tried again. True: another attempt may follow.
bool MayRetry(PlanBuilder& builder, api::Role role, const Failure& failure);
// The status says why the next attempt is begun, and from when its delay counts.
void BeginRestart(PlanBuilder& builder, const std::string& reason, const std::string& message);
// Restarting=False where it was true.
void EndRestart(PlanBuilder& builder, const std::string& message);

}  // namespace espalier::ctl::plan
