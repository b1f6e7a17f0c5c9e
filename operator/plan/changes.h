// Events for what changed from the stored status to the planned one.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void NoteChanges(PlanBuilder& builder);  // events, from the stored status to this one

}  // namespace espalier::ctl::plan
