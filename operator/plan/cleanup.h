// Deletions: of a finished job's children, of its StatefulSets, and of held pods and pods on lost nodes.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void CleanUp(PlanBuilder& builder);  // of a finished job: cleanPodPolicy and ttlSecondsAfterFinished
// Returns whether the job has servers that keep serving after its end, for inspection (cleanPodPolicy).
bool KeepsServers(const api::DistTraining& training, const World& world);
void DeleteSets(PlanBuilder& builder);  // servers and samplers
// Returns the time at which a pod whose deletion was requested counts as lost with its node; nullopt: it was not
// requested.
std::optional<kube::WallTime> ForceDeleteAt(const PlanBuilder& builder, const kube::Pod& pod);
// Deletes a pod that other containers than the program's hold (program_pod.h), with a grace period of kHeldGrace.
void DeleteHeldPod(PlanBuilder& builder, const kube::Pod& pod);
void ShortenGraceOfHeldPods(PlanBuilder& builder);  // of those that are being deleted
void ForceDeleteLostPods(PlanBuilder& builder);     // of this job, and leftover pods of an earlier job of its name

}  // namespace espalier::ctl::plan
