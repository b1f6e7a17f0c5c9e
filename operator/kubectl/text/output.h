// The destination of a command's output.
#pragma once

#include <functional>
#include <string_view>

#include "services/base/status.h"

namespace espalier::ctl::text {

struct Output {
  // Writes all of the text. Returns Unavailable if it cannot, for example if the reader has closed the pipe or the disk
  // is full.
  std::function<Status(std::string_view)> write;
  bool is_terminal = false;                             // true: text from the cluster must be made Printable
  bool can_repaint = false;                             // a terminal that understands cursor movements
  std::function<size_t()> columns = [] { return 80; };  // the current width, which changes with the window
};

// Returns this process's standard output. `terminal_name` is $TERM.
Output StandardOutput(std::string_view terminal_name);

}  // namespace espalier::ctl::text
