// The trainer Jobs, one for each incarnation.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void Train(PlanBuilder& builder, bool services_are_ready);
// For an incarnation that follows: writes number, replicas and reason ahead.
void BeginIncarnation(PlanBuilder& builder, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::plan
