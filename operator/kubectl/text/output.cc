#include "operator/kubectl/text/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace espalier::ctl::text {
namespace {

Status WriteToStandardOutput(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Unavailable(FromErrno(errno, "writing to standard output").message());
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
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
