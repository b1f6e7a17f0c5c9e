// Finds blockers: problems that keep a job or a role from becoming ready and that a user or administrator can fix, such
// as missing Secrets, refused objects and pods that cannot start.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Sets the blocker of the whole job if Secrets are missing or an object was refused. Also requeues while Secrets, pods
// or containers are missing, because no watch covers Secrets and events. Does nothing if runPolicy.suspend is true.
// Called before the stages (plan_builder.h).
void DetectBlockers(PlanBuilder& builder);
// Returns the blocker that keeps `role` from becoming ready: the blocker of the whole job or, if there is none, that of
// the role, after recording it with PlanBuilder::AddNote. nullopt: there is neither.
std::optional<Blocker> BlockerFor(PlanBuilder& builder, api::Role role);
// How long pods or their containers must be missing before the operator looks for the cause.
inline constexpr std::chrono::seconds kMissingPodsDelay{3};
// Returns the uids of the job's Jobs and StatefulSets that have lacked pods for kMissingPodsDelay.
std::vector<std::string> ControllersMissingPods(const api::DistTraining& training, const World& world,
                                                kube::WallTime now);
// Returns the uids of pods that have waited for their containers for kMissingPodsDelay and that have volumes from the
// user (in the role's template, or the TLS Secret). Returns at most one pod per role, because the other pods of the
// role wait for the same volumes.
std::vector<std::string> WaitingForVolumes(const api::DistTraining& training, const World& world, kube::WallTime now);
// Returns whether the pod is on a node and none of its containers is created yet: it waits for images and volumes.
bool WaitsForItsContainers(const kube::Pod& pod);
// Returns the names of the current attempts' Jobs that are suspended. Another writer has suspended them, because the
// operator never sets spec.suspend of a Job.
std::vector<std::string> SuspendedJobs(const api::DistTraining& training, const World& world);
// Returns whether `waiting_reason` (kube::ContainerState) means that the kubelet cannot get the container's image.
bool IsImageProblem(std::string_view waiting_reason);
// Returns whether `reason` is that of a blocker that keeps pods from starting until a user or administrator has fixed
// the problem.
bool IsFixablePodBlocker(const std::string& reason);
// Sets or clears status.last_error according to the blockers that were found.
void WriteLastError(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
