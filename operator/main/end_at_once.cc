#include "operator/main/end_at_once.h"

#include <fcntl.h>
#include <unistd.h>

namespace espalier::ctl::process {

void EndAtOnce(std::string_view line, ExitCode code) {
  // Opens stderr again: O_NONBLOCK on descriptor 2 would apply to every process that shares it, such as a shell. If it
  // cannot be opened (a socket), only the exit code gives the reason.
  const int log = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (log >= 0) {
    [[maybe_unused]] const ssize_t written = write(log, line.data(), line.size());
  }
  _exit(static_cast<int>(code));
}

}  // namespace espalier::ctl::process
