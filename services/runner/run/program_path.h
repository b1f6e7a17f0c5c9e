// Which file a user means by the name of a program.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::run {

// The absolute path of `program`: with a slash in it, seen from `folder` (empty: the working directory); without one,
// the first of that name in the folders of `search_path`, which is a PATH. NotFound: there is none; PermissionDenied:
// it cannot be executed.
Result<std::string> FindProgram(const std::string& program, const std::string& folder, const std::string& search_path);

}  // namespace espalier::run
