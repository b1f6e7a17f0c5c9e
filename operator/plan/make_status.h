// The status's summary of a job: phase, replicas, children.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void Summarize(PlanBuilder& builder);  // phase, replicas, children
api::Phase DerivePhase(const api::Status& status);

}  // namespace espalier::ctl::plan
