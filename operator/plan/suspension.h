// spec.suspend: stopping a job and resuming it.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void Suspend(PlanBuilder& builder);
// After a suspension, or for the first time.
void StartOrResume(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
