// The files that a job starts from besides its graph. Trainers read them once the graph is cut and served, which may
// take hours: a file that is missing, or of another kind, is found here first.
#pragma once

#include <optional>

#include "services/base/exit_code.h"
#include "services/job/dist_training.h"
#include "services/storage/open_store.h"

namespace espalier::start_files {

// What the caller has in common with the trainers. Without it the caller cannot tell what they will find.
struct SharedWithTrainers {
  bool local_files = false;
  bool credentials = false;  // of object storage
};

struct StartFileError {
  ExitCode exit_code = ExitCode::kBadInput;
  Status status;  // with the field
};

// Looks for spec.training.model.uri, spec.checkpoint.resumeFrom and spec.output.nodesUri, at the kind of the model file
// by its first and last bytes, and of a model of Espalier's at its header. Returns the first error: kBadInput for what
// is not there or of another kind, kBadDocument for a URI without a store behind it. What else the files hold is
// checked by trainers, and so is a store's other error, which may pass.
std::optional<StartFileError> FindStartFileError(const job::DistTraining& job, const SharedWithTrainers& shared,
                                                 const storage::StoreOpener& open_store);

}  // namespace espalier::start_files
