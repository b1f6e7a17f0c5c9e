// Paths of a program's script. script_path.cc also defines the functions of Script and Program (dist_training.h).
#pragma once

#include <string_view>

namespace espalier::job {

// Returns whether `path` is relative and stays in its folder: no empty, "." or ".." part, no backslash and no control
// character. The entries of an archive must be such paths, too.
bool IsPathWithin(std::string_view path);

}  // namespace espalier::job
