// The job's Workload in a queue of Kueue: created, replaced and reported to, as Kueue's own integrations do
// (kueue/pkg/controller/jobframework). The functions of quota.h tell whether the job may run.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Adds the flavors that Kueue has assigned to the pods of the job, for all stages after it. Blocks changes while they
// are not known.
void PlaceInFlavors(PlanBuilder& builder);

// Writes the condition QuotaReserved and plans the changes of the Workload. Must come after the stages that decide
// whether pods are left, and after the status is summarized.
void FollowQueue(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
