// Removes the incomplete output folder of a command that is stopped by a signal.
#pragma once

#include <string>

namespace espalier::cli {

// For the `before_exit` callback of StopWatcher. Removes `folder`, while another thread may still be writing to it, and
// prints to standard error that `command` was asked to stop. Removes nothing if `folder` is an empty string or does not
// exist. A folder that the other thread creates after this call stays.
void RemoveUnfinished(const std::string& command, const std::string& folder);

}  // namespace espalier::cli
