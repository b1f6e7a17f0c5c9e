// What keeps a job or a role from getting ready and can be fixed from outside: missing Secrets, refused objects, pods
// that cannot start.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Missing Secrets and refused objects, before anything else.
void DetectBlockers(PlanBuilder& builder);
// What keeps `role` from getting ready: the whole job's blocker, or its pods' (pending ones first).
std::optional<Blocker> BlockerFor(PlanBuilder& builder, api::Role role);
// Uids of Jobs and StatefulSets of ours that have lacked pods for kPodsMissing.
inline constexpr std::chrono::seconds kPodsMissing{3};
std::vector<std::string> ControllersMissingPods(const api::DistTraining& training, const World& world,
                                                kube::WallTime now);
// Uids of pods whose containers have not been made for kPodsMissing and whose template has volumes that are not ours:
// one of each role, as what keeps one from them keeps the others too.
std::vector<std::string> WaitingForVolumes(const api::DistTraining& training, const World& world, kube::WallTime now);
// Whether the pod is on a node and none of its containers is made yet: it waits for images and volumes.
bool WaitsForItsContainers(const kube::Pod& pod);
// Names of the Jobs under way that another writer has suspended.
std::vector<std::string> SuspendedJobs(const api::DistTraining& training, const World& world);
// Returns whether `reason` is that of a pod that cannot start and can be fixed from outside.
bool IsInTheWay(const std::string& reason);
// Writes or clears status.last_error by the blockers met.
void WriteLastError(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
