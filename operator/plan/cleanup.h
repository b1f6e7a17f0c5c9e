// Plans the deletion of a finished job's children, of the StatefulSets of servers and samplers, of held pods
// (program_pod.h), and of pods on lost nodes.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// For a job that has finished: sets finished_at, and plans the deletions that cleanPodPolicy and
// ttlSecondsAfterFinished require. Renews the certificates of servers that keep serving (KeepsServers).
void CleanUp(PlanBuilder& builder);
// Returns whether the job has servers or samplers that keep serving after its end, for inspection (cleanPodPolicy
// None).
bool KeepsServers(const api::DistTraining& training, const World& world);
// Plans the deletion of the StatefulSets of servers and samplers.
void DeleteSets(PlanBuilder& builder);
// Returns the time from which the pod is deleted by force, because its node is assumed lost. Returns nullopt if the
// pod's deletion was not requested.
std::optional<kube::WallTime> ForceDeleteAt(const PlanBuilder& builder, const kube::Pod& pod);
// Plans the deletion of a held pod, with a grace period of kHeldPodGrace. A pod is held if its program has ended and
// another container still runs (program_pod.h).
void DeleteHeldPod(PlanBuilder& builder, const kube::Pod& pod);
// Plans a second deletion, with the grace period kHeldPodGrace, of held pods that are being deleted with a longer one.
void ShortenGraceOfHeldPods(PlanBuilder& builder);
// Plans the forced deletion (ForceDeleteAt) of pods of this job and of pods left by an earlier job with the same name.
void ForceDeleteLostPods(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
