// Decides how a job ends: Succeeded or Failed, once and permanently.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Returns true if the job has its outcome, or is about to: Succeeded when its trainer Job is complete, Failed when
// servers or samplers cannot recover. Nothing is done for a trainer Job that is about to be complete.
bool DecideOutcome(PlanBuilder& builder);
// Fails the job once activeDeadlineSeconds have passed since the last start or resume. Called after DecideOutcome: a
// job whose trainers have all succeeded has its outcome, whatever else runs in their pods.
bool HasRunOutOfTime(PlanBuilder& builder);
void Succeed(PlanBuilder& builder);
void Fail(PlanBuilder& builder, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::plan
