// Runs Jobs one after another: attempts of the partitioner, incarnations of the trainers. Earlier Jobs are deleted, and
// the next is created only when none of their pods is left.
#pragma once

#include <map>

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

struct Turn {
  bool may_start = false;           // the Job of `number` does not exist, and may be created now
  const char* waits_for = nullptr;  // a reason; null: the Job exists or may be created
};

// Plans the deletion of all Jobs other than `number`, and returns whether that Job may be created.
Turn TakeTurn(PlanBuilder& builder, const std::map<int64_t, JobRun>& runs, int64_t number);

}  // namespace espalier::ctl::plan
