// Finds the executable of a user's program.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::run {

// Returns the absolute path of `program`. A name with a slash is relative to `folder` (empty: the working directory). A
// name without a slash is searched in the folders of `search_path`, a list in the format of PATH. NotFound if there is
// no such file, PermissionDenied if it is not executable, InvalidArgument if it is a folder.
Result<std::string> FindProgram(const std::string& program, const std::string& folder, const std::string& search_path);

}  // namespace espalier::run
