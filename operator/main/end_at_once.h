// The end of a process that must not write any more.
#pragma once

#include <string_view>

#include "services/base/exit_code.h"

namespace espalier::ctl::process {

// No destructors, no hooks, no locks, nothing that waits: the words (a constant line) go to stderr where that takes
// them at once, and are lost where it does not, as with a pipe that is full because nobody reads the log.
[[noreturn]] void EndAtOnce(std::string_view words, ExitCode code);

}  // namespace espalier::ctl::process
