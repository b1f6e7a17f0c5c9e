// What is deleted: after the end of a job, with its servers, and pods of lost nodes.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void CleanUp(PlanBuilder& builder);  // of a job that has ended: cleanPodPolicy and ttl
// Returns whether the job has servers that keep serving after its end, for inspection (cleanPodPolicy).
bool KeepsServers(const api::DistTraining& training, const World& world);
void DeleteSets(PlanBuilder& builder);  // servers and samplers
// When a pod that was asked to end counts as lost with its node; nullopt: it was not asked.
std::optional<kube::WallTime> ForceDeleteAt(const PlanBuilder& builder, const kube::Pod& pod);
// Deletes a pod that other containers than the program's hold (program_pod.h), with a grace period of kHeldGrace.
void DeleteHeldPod(PlanBuilder& builder, const kube::Pod& pod);
void ShortenGraceOfHeldPods(PlanBuilder& builder);  // of those that are being deleted
void ForceDeleteLostPods(PlanBuilder& builder);     // of this job, and of one before it whose pods keep names from ours

}  // namespace espalier::ctl::plan
