// Writes status.progress of a job that has succeeded, from its pods' termination messages.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Plans the write of the final progress if the job has succeeded and the progress is not written yet.
void PublishFinalProgress(PlanBuilder& builder);
// Returns whether the Job of `run` is complete although the caches still show the pod of rank 0 as running. The final
// progress is then not read yet, and the Job must not be deleted.
bool HasFinalProgressPending(const PlanBuilder& builder, const JobRun& run);

}  // namespace espalier::ctl::plan
