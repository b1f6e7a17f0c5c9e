// The StatefulSets of graph servers and samplers.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// True: there are as many servers and samplers as trainers need to begin.
bool Serve(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
