// Ends a process that must not write any more.
#pragma once

#include <string_view>

#include "services/base/exit_code.h"

namespace espalier::ctl::process {

// Writes `line`, which ends with a newline, to stderr and ends the process with `code`. Runs no destructors and no exit
// hooks, takes no locks and never blocks. If stderr cannot take the line at once, for example because it is a pipe that
// is full, the line is lost.
[[noreturn]] void EndAtOnce(std::string_view line, ExitCode code);

}  // namespace espalier::ctl::process
