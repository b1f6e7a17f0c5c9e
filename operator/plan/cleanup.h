// Plans the deletion of a finished job's children, of the StatefulSets of servers and samplers, of held pods
// (program_pod.h), and of pods on lost nodes.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Deletes what cleanPodPolicy and ttlSecondsAfterFinished say after the job has finished.
void CleanUp(PlanBuilder& builder);
// Returns whether the job has servers that keep serving after its end, for inspection (cleanPodPolicy).
bool KeepsServers(const api::DistTraining& training, const World& world);
void DeleteSets(PlanBuilder& builder);  // servers and samplers
// Returns the time from which the pod is deleted by force, because its node is assumed lost. Returns nullopt if the
// pod's deletion was not requested.
std::optional<kube::WallTime> ForceDeleteAt(const PlanBuilder& builder, const kube::Pod& pod);
// Deletes a held pod, with a grace period of kHeldPodGrace. A pod is held if its program has ended and another
// container still runs (program_pod.h).
void DeleteHeldPod(PlanBuilder& builder, const kube::Pod& pod);
void ShortenGraceOfHeldPods(PlanBuilder& builder);  // of those that are being deleted
void ForceDeleteLostPods(PlanBuilder& builder);     // of this job, and pods left by an earlier job with the same name

}  // namespace espalier::ctl::plan
