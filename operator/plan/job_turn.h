// One Job after the other: attempts of the partitioner, incarnations of the trainers. What came before is deleted, and
// the next is made only when nothing of it is left.
#pragma once

#include <map>

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

struct Turn {
  bool may_start = false;           // the Job of `number` is not there, and nothing stands in its way
  const char* waits_for = nullptr;  // a reason; null: it is there, or may start
};

// Plans the deletion of all Jobs before `number`.
Turn TakeTurn(PlanBuilder& builder, const std::map<int64_t, JobRun>& runs, int64_t number);

}  // namespace espalier::ctl::plan
