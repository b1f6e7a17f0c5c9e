// Early checks of the files that a job reads in addition to its graph. Trainers read these files only after the graph
// is partitioned and served, which can take hours; these checks find a missing file or one of the wrong kind before.
#pragma once

#include <optional>

#include "services/base/exit_code.h"
#include "services/job/dist_training.h"
#include "services/storage/open_store.h"

namespace espalier::start_files {

// Resources that the caller shares with the trainers. Checks that need a resource that is not shared are skipped.
struct SharedWithTrainers {
  bool local_files = false;  // the same file system
  bool credentials = false;  // the same credentials of object storage
};

struct StartFileError {
  ExitCode exit_code = ExitCode::kBadInput;
  Status status;  // its message begins with the field
};

// Checks that spec.training.model.uri, spec.checkpoint.resumeFrom and spec.output.nodesUri exist, and that the model
// file is of the right kind (by its first and last bytes, and by its header for a model of Espalier). Returns the first
// error, or nullopt: kBadInput for a missing file or one of the wrong kind, kBadDocument for a URI without a store.
// Errors that may be transient, or may be due to credentials that are not shared, are ignored; trainers report those.
// Trainers also check the remaining content of the files.
std::optional<StartFileError> FindStartFileError(const job::DistTraining& job, const SharedWithTrainers& shared,
                                                 const storage::StoreOpener& open_store);

}  // namespace espalier::start_files
