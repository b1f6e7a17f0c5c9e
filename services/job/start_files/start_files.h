// Early checks of the files that a job reads in addition to its graph. Trainers read these files only after the graph
// is partitioned and served, which can take hours; these checks find a missing file or a file of the wrong kind
// earlier.
#pragma once

#include <optional>

#include "services/base/exit_code.h"
#include "services/job/dist_training.h"
#include "services/storage/open_store.h"

namespace espalier::start_files {

// Resources that the caller shares with the trainers.
struct SharedWithTrainers {
  bool local_files = false;  // the same file system; false: local files are not checked
  bool credentials =
      false;  // the same credentials of object storage; false: errors that may be due to them are ignored
};

struct StartFileError {
  ExitCode exit_code = ExitCode::kBadInput;
  Status status;  // the message begins with the field and ": "
};

// Checks that spec.training.model.uri, spec.checkpoint.resumeFrom and spec.output.nodesUri exist, and that the model
// file is of the right kind (by its first and last bytes, and by its header for a model of Espalier). Returns the first
// error, or nullopt if there is none. The exit code is kBadInput for a file that is missing, damaged or of the wrong
// kind, and kBadDocument for a URI that no store can open. Errors that may be transient, or may be due to credentials
// that are not shared, are ignored; trainers report such errors. Trainers also check the remaining content of the
// files.
std::optional<StartFileError> FindStartFileError(const job::DistTraining& job, const SharedWithTrainers& shared,
                                                 const storage::StoreOpener& open_store);

}  // namespace espalier::start_files
