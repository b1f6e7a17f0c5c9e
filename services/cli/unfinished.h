// What a command that is stopped leaves of a folder that it was writing: nothing.
#pragma once

#include <string>

namespace espalier::cli {

// For StopWatcher's `before_the_end`: removes `folder` (nothing where it is empty or not there) while another thread
// may be writing in it, and says on standard error that `command` was asked to stop. A folder that is made at that
// moment stays.
void RemoveUnfinished(const std::string& command, const std::string& folder);

}  // namespace espalier::cli
