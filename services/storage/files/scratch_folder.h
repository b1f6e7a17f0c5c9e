// The folder for files that are needed only while this process runs.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// Returns $TMPDIR; if it is not set, $TMP, $TEMP or $TEMPDIR, otherwise /tmp (std::filesystem::temp_directory_path).
// FailedPrecondition if that is not an existing folder.
Result<std::string> ScratchFolder();

}  // namespace espalier::storage
