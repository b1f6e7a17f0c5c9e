// Creates and replaces the job's Workload in a queue of Kueue and reports to it, as Kueue's own integrations do
// (kueue/pkg/controller/jobframework). The functions of quota.h decide whether the job may run.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Calls SetPlacements with the node labels, tolerations and other settings that Kueue's admission adds to the job's
// pods. Blocks changes while an assigned ResourceFlavor is not read.
void PlaceInFlavors(PlanBuilder& builder);

// Writes the condition QuotaReserved and plans the changes of the Workload. Call it after the stages that decide
// whether pods are left, and after Summarize.
void FollowQueue(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
