// Events about changes of a job's status.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Adds an event to the plan for each relevant difference between the stored status and the planned one.
void NoteChanges(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
