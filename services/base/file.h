// Files that fit in memory.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/status.h"

namespace espalier {

// All of the file, or of what comes through a pipe until its end. NotFound where there is none; InvalidArgument for a
// folder, and for more than `max_bytes`. Errors name the path.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);

}  // namespace espalier
