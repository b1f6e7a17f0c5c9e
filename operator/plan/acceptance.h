// The stage that accepts a job: it needs a valid spec, and templates that pass a dry run.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Checks the spec and plans the dry run of the roles' templates if it is due. Returns false if no later stage may run
// for now. If the spec is valid, returns true for a job that has begun, but blocks changes (BlockChanges) until this
// generation is accepted.
bool Accept(PlanBuilder& builder);
// Returns whether this generation is accepted already, or will be, because its dry run was not refused.
bool IsAccepted(const api::DistTraining& training, const Observed& seen);
// Returns whether the dry run of this generation's templates was refused.
bool AreTemplatesRefused(const api::DistTraining& training, const Observed& seen);

}  // namespace espalier::ctl::plan
