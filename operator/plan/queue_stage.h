// Creates and replaces the job's Workload in a queue of Kueue. Reports in the Workload's status whether the job's pods
// are ready and whether the job has ended, as Kueue's own integrations do (kueue/pkg/controller/jobframework). The
// functions of quota.h decide whether the job may run.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Calls SetPlacements with the node labels, tolerations and other settings that Kueue's admission adds to the job's
// pods. Blocks changes while the Workloads or an assigned ResourceFlavor cannot be read.
void PlaceInFlavors(PlanBuilder& builder);

// Writes the condition QuotaReserved and plans the changes of the Workload. Call it after Suspend, which sets the
// condition Suspended to True when no pod is left, and after Summarize.
void FollowQueue(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
