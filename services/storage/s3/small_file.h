// Reads small files, which contain a token or a few lines.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// Returns the content without trailing white space. Errors name the path: NotFound, PermissionDenied, InvalidArgument
// (longer than 1 MiB), FailedPrecondition (empty).
Result<std::string> ReadSmallFile(const std::string& path);

}  // namespace espalier::storage
