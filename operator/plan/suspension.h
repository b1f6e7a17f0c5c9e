// spec.runPolicy.suspend: suspends and resumes a job.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void Suspend(PlanBuilder& builder);
// Starts the job, or resumes it after a suspension.
void StartOrResume(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
