// The folder for files that are only needed during the lifetime of this process.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// Returns $TMPDIR, or /tmp if it is not set. FailedPrecondition if that is not a folder.
Result<std::string> ScratchFolder();

}  // namespace espalier::storage
