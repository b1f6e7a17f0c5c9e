// The stage that runs the partition Job.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Plans the current attempt and reads its result. Returns whether status.partition is set.
bool Partition(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
