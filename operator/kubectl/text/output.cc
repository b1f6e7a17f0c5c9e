#include "operator/kubectl/text/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "services/base/write_all.h"

namespace espalier::ctl::text {
namespace {

Status WriteToStandardOutput(std::string_view text) {
  const Status written = WriteAll(STDOUT_FILENO, text, "to standard output");
  return written.ok() ? written : Unavailable(written.message());
}

size_t ColumnsOfStandardOutput() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Output StandardOutput(std::string_view terminal_name) {
  Output output;
  output.write = WriteToStandardOutput;
  output.is_terminal = isatty(STDOUT_FILENO) != 0;
  output.can_repaint = output.is_terminal && !terminal_name.empty() && terminal_name != "dumb";
  if (output.is_terminal) output.columns = ColumnsOfStandardOutput;
  return output;
}

}  // namespace espalier::ctl::text
