// The stage that runs the StatefulSets of graph servers and samplers.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Plans the StatefulSets. Returns whether enough servers and samplers are ready for trainers to begin.
bool Serve(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
