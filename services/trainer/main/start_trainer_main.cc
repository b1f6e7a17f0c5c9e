// espalier-trainer: prepares the process before libtorch's libraries are loaded, then executes espalier-trainer-process
// in the same process with the same arguments. Loading libtorch takes a second, and many seconds on a busy machine.
// This program links none of Espalier's libraries, so that it starts at once.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "services/base/exit_code.h"

namespace {

// Makes idle OpenMP threads sleep. By default they spin and take processor time from other processes of the machine.
// libgomp reads this setting when it is loaded.
void LetIdleThreadsSleep() { setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0); }

// Blocks SIGTERM and SIGINT if this is process 1 of a container (`docker run`; in the operator's pods another process
// is process 1). The kernel drops a signal for which process 1 has no handler, and the container would run until it is
// killed. A blocked signal stays pending, also across exec, until telemetry::StopSignal unblocks it. Processes with
// other numbers need no block: without a handler, these signals end them.
void HoldStopSignals() {
  if (getpid() != 1) return;
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
}

}  // namespace

int main(int, char** argv) {
  HoldStopSignals();
  LetIdleThreadsSleep();
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string() + "-process";
  if (!error) execv(program.c_str(), argv);
  const int error_number = error ? error.value() : errno;
  std::fprintf(stderr, "espalier-trainer: starting %s: %s\n", program.c_str(), std::strerror(error_number));
  return static_cast<int>(espalier::ExitCode::kBug);
}
