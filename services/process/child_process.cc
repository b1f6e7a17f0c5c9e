#include "services/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "services/base/environment.h"
#include "services/process/start_program.h"

namespace espalier::process {
namespace {

int Duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); }

}  // namespace

std::string ExitState::Describe() const {
  if (signal != 0) return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  const char* const meaning = MeaningOfExitCode(code);
  return "exit code " + std::to_string(code) + (meaning == nullptr ? "" : std::string(" (") + meaning + ")");
}

ExitCode ExitState::ToExitCode() const {
  switch (signal) {
    case 0: break;
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP: return ExitCode::kUnavailable;
    default: return ExitCode::kBug;
  }
  switch (code) {
    case 0:
    case 64:
    case 65:
    case 74:
    case 75:
    case 77: return static_cast<ExitCode>(code);
    default: return ExitCode::kBug;
  }
}

Result<ChildProcess> ChildProcess::Start(const ChildSpec& spec) {
  const std::string doing = "starting " + spec.name + " (" + spec.program + ")";
  const Descriptor input(spec.input >= 0 ? Duplicate(spec.input) : open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) return FromErrno(errno, doing + ": its standard input");
  const Descriptor log(spec.error >= 0 ? Duplicate(spec.error)
                                       : open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (log.get() < 0) {
    return FromErrno(errno, doing + ": " + (spec.error >= 0 ? "its standard error" : "opening " + spec.log_path));
  }
  const Descriptor output(spec.output >= 0 ? Duplicate(spec.output)
                          : spec.output_path.empty()
                              ? Duplicate(log.get())
                              : open(spec.output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (output.get() < 0) {
    const bool opens_file = spec.output < 0 && !spec.output_path.empty();
    return FromErrno(errno, doing + ": " + (opens_file ? "opening " + spec.output_path : "its standard output"));
  }
  std::vector<std::string> arguments = {spec.program};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  EnvironmentMap environment = spec.environment;
  if (spec.inherits_environment) environment.merge(ReadEnvironment());
  ASSIGN_OR_RETURN(StartedProgram started, StartProgram({.path = spec.program,
                                                         .arguments = std::move(arguments),
                                                         .environment = std::move(environment),
                                                         .folder = spec.folder,
                                                         .input = input.get(),
                                                         .output = output.get(),
                                                         .error = log.get(),
                                                         .inherited = spec.inherited})
                                               .While(doing));
  ChildProcess child(spec.name, spec.log_path, started.pid, std::move(started.ended));
  int error_number = 0;
  ssize_t count = 0;
  do {
    count = read(started.failure.get(), &error_number, sizeof(error_number));
  } while (count < 0 && errno == EINTR);
  if (count > 0) return FromErrno(error_number, doing);
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)),
      log_path_(std::move(other.log_path_)),
      pid_(std::exchange(other.pid_, -1)),
      ended_(std::move(other.ended_)),
      exit_(other.exit_) {}

ChildProcess::~ChildProcess() {
  if (pid_ >= 0 && !exit_.has_value()) KillAndWait(pid_);
}

std::optional<ExitState> ChildProcess::Poll() {
  if (!exit_.has_value()) Reap();
  return exit_;
}

void ChildProcess::Reap() {
  int state = 0;
  if (waitpid(pid_, &state, WNOHANG) != pid_) return;
  kill(-pid_, SIGKILL);  // kills processes that the child has started
  exit_ = WIFSIGNALED(state) ? ExitState{0, WTERMSIG(state)} : ExitState{WEXITSTATUS(state), 0};
}

void ChildProcess::Signal(int signal_number) {
  if (!Poll().has_value()) kill(-pid_, signal_number);
}

}  // namespace espalier::process
