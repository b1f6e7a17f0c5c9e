// Computes the summary part of the status: phase, replicas, selector, children.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Writes the summary, and last_error unless the job has ended.
void Summarize(PlanBuilder& builder);
// Returns the phase that follows from the conditions, the partition attempt and status.partition.
api::Phase DerivePhase(const api::Status& status);

}  // namespace espalier::ctl::plan
