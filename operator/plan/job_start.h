// Runs Jobs one after another: attempts of the partitioner, incarnations of the trainers. Earlier Jobs are deleted, and
// the next is created only when they no longer exist and all of their pods that remain have ended.
#pragma once

#include <map>

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

struct JobStart {
  bool may_start = false;           // the Job does not exist, and may be created now
  const char* waits_for = nullptr;  // reason of a condition (reasons.h); null: the Job exists or may be created
};

// Plans the deletion of all Jobs but the one with `number`, which is an attempt or incarnation, and returns whether
// that Job may be created. `runs` are by number.
JobStart DeleteOtherJobs(PlanBuilder& builder, const std::map<int64_t, JobRun>& runs, int64_t number);

}  // namespace espalier::ctl::plan
