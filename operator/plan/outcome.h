// Decides how a job ends: Succeeded or Failed, once and permanently.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Sets Succeeded when the programs of a trainer Job have all succeeded, or Failed when servers or samplers cannot
// recover, and returns true. Also returns true, without a change of the status, while a trainer Job is about to be
// complete.
bool DecideOutcome(PlanBuilder& builder);
// Fails the job once activeDeadlineSeconds have passed since the last start or resume. Called after DecideOutcome, so
// that a job whose trainers have all succeeded does not fail because a sidecar still runs.
bool HasRunOutOfTime(PlanBuilder& builder);
void Succeed(PlanBuilder& builder);
void Fail(PlanBuilder& builder, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::plan
