// Files that hold a token or a few lines.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// All of it, without spaces and line breaks at the end. Errors name the path: NotFound, PermissionDenied,
// InvalidArgument (longer than 1 MiB), FailedPrecondition (empty).
Result<std::string> ReadSmallFile(const std::string& path);

}  // namespace espalier::storage
