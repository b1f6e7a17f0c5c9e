// Adds events for the differences between the stored status and the planned one.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void NoteChanges(PlanBuilder& builder);  // adds the events to the plan

}  // namespace espalier::ctl::plan
