// The files that a job starts from besides its graph. Trainers read them once the graph is cut and served, which may
// take hours: a file that is missing is found here first.
#pragma once

#include "services/job/dist_training.h"
#include "services/job/runs_on.h"
#include "services/storage/open_store.h"

namespace espalier::run {

// Looks for spec.training.model.uri, spec.checkpoint.resumeFrom and spec.output.nodesUri. The first that is not there
// makes NotFound, and one without a store behind it FailedPrecondition, InvalidArgument or Unimplemented, with the
// field. What the files hold is the trainers' to check, and so is a store's other error, which may pass. Local paths
// are looked at only where trainers run on this machine.
Status CheckStartFiles(const job::DistTraining& job, job::RunsOn runs_on, const storage::StoreOpener& open_store);

}  // namespace espalier::run
