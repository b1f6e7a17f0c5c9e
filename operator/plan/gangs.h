// Gangs: the pods of a role that start all-or-nothing, as members of a PodGroup of kube-scheduler.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Plans the PodGroup of the role's pods if they are a gang. Pods of children that are built after this call are members
// of the group. Call it before the role's children are applied, and in each later plan while they exist. Returns false
// if the children must not be created now: the PodGroup could not be planned, or it is unknown whether the cluster has
// PodGroups.
bool PlanGang(PlanBuilder& builder, api::Role role);

// Deletes PodGroups of earlier attempts and incarnations, and that of the partitioner once the graph is partitioned.
void DeleteOldGangs(PlanBuilder& builder);
// Deletes all PodGroups of the job, so that its pods start all-or-nothing again when it resumes. Call it only when the
// job has no pods.
void DeleteGangs(PlanBuilder& builder);

// Returns the blocker of a gang whose PodGroup kube-scheduler reports as not scheduled. Otherwise returns nullopt, also
// if the role is not a gang or there is no report yet.
std::optional<Blocker> FindGangBlocker(const PlanBuilder& builder, api::Role role);

}  // namespace espalier::ctl::plan
