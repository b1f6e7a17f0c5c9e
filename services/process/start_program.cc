#include "services/process/start_program.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace espalier::process {
namespace {

// The data that the child needs between fork and exec, prepared before the fork.
struct Preparation {
  const ProgramStart& start;
  int input, output, error;  // those of `start`, all above 2
  const char* folder;        // null: this process's
  int failure;               // write end of StartedProgram::failure, above 2, closed by a successful exec
  pid_t parent;
  char* const* arguments;
  char* const* environment;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns `number` if it is above 2, otherwise a duplicate above 2 that `*duplicate` then owns. A process that was
// started without standard descriptors may open a file as 0, 1 or 2. In the child, dup2 of another descriptor to this
// number would close that file, and dup2 of the file to its own number would leave it close-on-exec.
Result<int> AboveStandard(int number, Descriptor* duplicate) {
  if (number > STDERR_FILENO) return number;
  *duplicate = Descriptor(fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!duplicate->is_open()) return FromErrno(errno, "duplicating descriptor " + std::to_string(number));
  return duplicate->get();
}

// Runs in the child: async-signal-safe calls only.
[[noreturn]] void Exec(const Preparation& prepared) {
  const ProgramStart& start = prepared.start;
  setpgid(0, 0);
  // StartProgram uses fork, because posix_spawn cannot set this signal.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != prepared.parent) _exit(127);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const bool is_ready = dup2(prepared.input, STDIN_FILENO) >= 0 && dup2(prepared.output, STDOUT_FILENO) >= 0 &&
                        dup2(prepared.error, STDERR_FILENO) >= 0 &&
                        (prepared.folder == nullptr || chdir(prepared.folder) == 0);
  if (is_ready) {
    if (start.closes_others) syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (start.inherited >= 0) fcntl(start.inherited, F_SETFD, 0);
    execve(start.path.c_str(), prepared.arguments, prepared.environment);
  }
  const int error_number = errno;
  [[maybe_unused]] const ssize_t written = write(prepared.failure, &error_number, sizeof(error_number));
  _exit(127);
}

}  // namespace

Result<StartedProgram> StartProgram(const ProgramStart& start) {
  ASSIGN_OR_RETURN(Pipe failure, MakePipe());
  Descriptor owned_input, owned_output, owned_error, owned_failure;
  ASSIGN_OR_RETURN(const int input, AboveStandard(start.input, &owned_input));
  ASSIGN_OR_RETURN(const int output, AboveStandard(start.output, &owned_output));
  ASSIGN_OR_RETURN(const int error, AboveStandard(start.error, &owned_error));
  ASSIGN_OR_RETURN(const int failure_end, AboveStandard(failure.write_end.get(), &owned_failure));
  std::vector<std::string> arguments = start.arguments, environment;
  for (const auto& [name, value] : start.environment) environment.push_back(name + "=" + value);
  const std::vector<char*> argument_pointers = Pointers(arguments), environment_pointers = Pointers(environment);
  const Preparation prepared{.start = start,
                             .input = input,
                             .output = output,
                             .error = error,
                             .folder = start.folder.empty() ? nullptr : start.folder.c_str(),
                             .failure = failure_end,
                             .parent = getpid(),
                             .arguments = argument_pointers.data(),
                             .environment = environment_pointers.data()};
  signal(SIGCHLD, SIG_DFL);  // if SIGCHLD was inherited as ignored, children would leave no exit status
  const pid_t pid = fork();
  if (pid < 0) return FromErrno(errno, "fork");
  if (pid == 0) Exec(prepared);
  setpgid(pid, pid);  // in the parent and the child; the second call has no effect
  Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!ended.is_open()) {
    const int error_number = errno;
    KillAndWait(pid);
    return FromErrno(error_number, "pidfd_open");
  }
  return StartedProgram{pid, std::move(ended), std::move(failure.read_end)};
}

int KillAndWait(pid_t pid) {
  // Kills before waiting, because afterwards the process ID may belong to another process.
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  int state = 0;
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  return state;
}

}  // namespace espalier::process
