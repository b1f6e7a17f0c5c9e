// Where a command's output goes.
#pragma once

#include <functional>
#include <string_view>

#include "services/base/status.h"

namespace espalier::ctl::text {

struct Output {
  // All of it, or why not: Unavailable for a reader that has gone away, a full disk.
  std::function<Status(std::string_view)> write;
  bool is_terminal = false;                             // somebody looks at it: cluster text has to be Printable
  bool can_repaint = false;                             // and it understands cursor movements
  std::function<size_t()> columns = [] { return 80; };  // now: windows change
};

// This process's standard output. `terminal_name` is $TERM.
Output StandardOutput(std::string_view terminal_name);

}  // namespace espalier::ctl::text
