// The stage that runs the trainer Jobs, one per incarnation.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Observes the current incarnation, begins the next one if necessary, and plans its Job. Sets the condition
// TrainersReady. The first incarnation begins, and a Job is created, only if `services_are_ready`: there are enough
// servers and samplers for trainers.
void Train(PlanBuilder& builder, bool services_are_ready);
// Begins the next incarnation: writes its number, replicas and reason to the status, before its children exist.
// `message` explains `reason` in the condition Restarting, which is not set for the first start (an empty reason) and
// for kResumed.
void BeginIncarnation(PlanBuilder& builder, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::plan
