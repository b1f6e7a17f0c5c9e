// Finds blockers: problems that keep a job or a role from becoming ready and that a user or administrator can fix, such
// as missing Secrets, refused objects and pods that cannot start.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Finds missing Secrets and refused objects; called before the stages. Also requeues for Secrets and events, which no
// watch covers.
void DetectBlockers(PlanBuilder& builder);
// Returns the blocker that keeps `role` from becoming ready: that of the whole job, or else that of the role, which is
// recorded (PlanBuilder::AddNote). nullopt: there is none.
std::optional<Blocker> BlockerFor(PlanBuilder& builder, api::Role role);
// How long pods or their containers must be missing before the operator looks for the cause.
inline constexpr std::chrono::seconds kPodsMissing{3};
// Returns the uids of the job's Jobs and StatefulSets that have lacked pods for kPodsMissing.
std::vector<std::string> ControllersMissingPods(const api::DistTraining& training, const World& world,
                                                kube::WallTime now);
// Returns the uids of pods whose containers have not been created for kPodsMissing and whose template has volumes that
// the operator does not make. Returns one pod per role, because the other pods of the role wait for the same volumes.
std::vector<std::string> WaitingForVolumes(const api::DistTraining& training, const World& world, kube::WallTime now);
// Returns whether the pod is on a node and none of its containers is created yet: it waits for images and volumes.
bool WaitsForItsContainers(const kube::Pod& pod);
// Returns the names of current Jobs that another writer has suspended.
std::vector<std::string> SuspendedJobs(const api::DistTraining& training, const World& world);
// Returns whether `reason` is that of a blocker that keeps pods from starting until a user or administrator has fixed
// the problem.
bool IsFixablePodBlocker(const std::string& reason);
// Sets or clears status.last_error according to the blockers that were found.
void WriteLastError(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
