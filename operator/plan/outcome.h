// Decides how a job ends: Succeeded or Failed, once and permanently.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Returns whether no further stage may run: the programs of a trainer Job have all succeeded (sets Succeeded), servers
// or samplers cannot recover (sets Failed), or a trainer Job is about to be complete (changes nothing).
bool DecideOutcome(PlanBuilder& builder);
// Fails the job, and returns true, once activeDeadlineSeconds have passed since the last start or resume. Called after
// DecideOutcome, so that a job whose trainers have all succeeded does not fail because a sidecar still runs.
bool FailAfterDeadline(PlanBuilder& builder);
// Succeed and Fail set finished_at and the terminal condition.
void Succeed(PlanBuilder& builder);
void Fail(PlanBuilder& builder, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::plan
