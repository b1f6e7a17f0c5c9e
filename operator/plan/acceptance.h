// Acceptance of a job: a valid spec, and templates that pass a dry run.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Is the spec valid, and do the roles' templates pass a dry run? False: nothing more to plan for now.
bool Accept(PlanBuilder& builder);
// Accepted for this generation, or about to be by what has been seen.
bool IsAccepted(const api::DistTraining& training, const Observed& seen);
// Whether the API server was asked about this generation's templates, and refuses them.
bool AreTemplatesRefused(const api::DistTraining& training, const Observed& seen);

}  // namespace espalier::ctl::plan
