// How a job ends: Succeeded or Failed, each once and for good.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Succeeded by a trainer Job that is complete, Failed by hopeless servers and samplers: true. So where a trainer Job is
// about to be complete, for which nothing is to be done. Else false.
bool DecideOutcome(PlanBuilder& builder);
// Fails the job once activeDeadlineSeconds have passed since the last start or resume. Called after DecideOutcome: a
// job whose trainers have all succeeded has its outcome, whatever else runs in their pods.
bool HasRunOutOfTime(PlanBuilder& builder);
void Succeed(PlanBuilder& builder);
void Fail(PlanBuilder& builder, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::plan
