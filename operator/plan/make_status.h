// Computes the summary part of the status: phase, replicas, children.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void Summarize(PlanBuilder& builder);  // also last_error, unless the job has ended
// Returns the phase that follows from the conditions, the partition attempt and status.partition.
api::Phase DerivePhase(const api::Status& status);

}  // namespace espalier::ctl::plan
