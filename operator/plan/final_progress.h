// status.progress of a job that has succeeded, from its pods' termination messages.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void PublishFinalProgress(PlanBuilder& builder);  // of a job that has succeeded
// They are in the API server already, with the pod that the caches still show at work: its Job must not go before them.
bool HasFinalProgressPending(const PlanBuilder& builder, const JobRun& run);

}  // namespace espalier::ctl::plan
