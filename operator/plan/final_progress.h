// Writes status.progress of a job that has succeeded, from its pods' termination messages.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void PublishFinalProgress(PlanBuilder& builder);  // does nothing unless the job has succeeded
// Returns whether the final progress of `run` may be in the API server already, while the caches still show its pod as
// running: the Job must not be deleted before it is read.
bool HasFinalProgressPending(const PlanBuilder& builder, const JobRun& run);

}  // namespace espalier::ctl::plan
