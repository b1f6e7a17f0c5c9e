// The stage that runs the partition Job.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

bool Partition(PlanBuilder& builder);  // returns whether status.partition is known

}  // namespace espalier::ctl::plan
