// The partition Job.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

bool Partition(PlanBuilder& builder);  // true: status.partition is known

}  // namespace espalier::ctl::plan
