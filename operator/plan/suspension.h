// Suspends and resumes a job: for spec.runPolicy.suspend, and while the job has no quota of Kueue.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Plans the deletion of the Jobs and, when their pods are gone, the scaling of servers and samplers to zero replicas.
// Sets Suspended to True when no pod is left.
void Suspend(PlanBuilder& builder);
// Starts the job, or resumes it after a suspension.
void StartOrResume(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
