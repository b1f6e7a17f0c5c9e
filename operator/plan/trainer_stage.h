// The stage that runs the trainer Jobs, one per incarnation.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void Train(PlanBuilder& builder, bool services_are_ready);
// Begins the next incarnation: writes its number, replicas and reason to the status, before its children exist.
void BeginIncarnation(PlanBuilder& builder, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::plan
