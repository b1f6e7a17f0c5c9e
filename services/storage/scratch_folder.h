// Where files go that nobody needs when this process has ended.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// What TMPDIR names, or /tmp. FailedPrecondition where that is no folder.
Result<std::string> ScratchFolder();

}  // namespace espalier::storage
