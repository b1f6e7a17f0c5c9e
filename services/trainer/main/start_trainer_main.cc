// espalier-trainer: sets what must be set before libtorch's libraries are loaded, which takes a second, and many on a
// busy machine; then becomes espalier-trainer-process, the same process with the same arguments. Links none of our
// libraries, so as to be there at once.
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

// Idle OpenMP threads that spin take the processor from the machine's other processes. libgomp reads its settings when
// it is loaded.
void LetIdleThreadsSleep() { setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0); }

// A signal that process 1 of a container has no handler for is dropped by the kernel, and the container stays until it
// is killed (`docker run`; in the operator's pods another process is process 1). One that is blocked waits, across exec
// too, until telemetry::StopSignal takes it. All other processes end of it by themselves.
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
