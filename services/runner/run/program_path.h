// Finds the executable of a user's program.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::run {

// Returns the absolute path of `program`. A relative path with a slash is relative to `folder` (empty: the working
// directory); errors: NotFound, PermissionDenied if it is not executable, InvalidArgument if it is a folder. A name
// without a slash is looked up in the folders of `search_path`, a list in the format of PATH whose empty entries are
// skipped; NotFound if none of them has an executable file of that name.
Result<std::string> FindProgram(const std::string& program, const std::string& folder, const std::string& search_path);

}  // namespace espalier::run
