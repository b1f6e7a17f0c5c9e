#include "services/apps/run/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace espalier::run {
namespace {

// Closes when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int Release() { return std::exchange(number_, -1); }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Preparation {
  int input, output, log;
  int error_pipe;      // closed by a successful exec
  const char* folder;  // null: this process's
  pid_t parent;
  char* const* arguments;
  char* const* environment;
};

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void Exec(const Preparation& prepared) {
  setpgid(0, 0);
  // The kernel kills this process when the run dies. posix_spawn has no way to say this, hence fork.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != prepared.parent) _exit(127);  // it died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const bool redirected = dup2(prepared.input, STDIN_FILENO) >= 0 && dup2(prepared.output, STDOUT_FILENO) >= 0 &&
                          dup2(prepared.log, STDERR_FILENO) >= 0;
  const bool is_there = prepared.folder == nullptr || chdir(prepared.folder) == 0;
  if (redirected && is_there) execve(prepared.arguments[0], prepared.arguments, prepared.environment);
  const int error_number = errno;
  [[maybe_unused]] const ssize_t written = write(prepared.error_pipe, &error_number, sizeof(error_number));
  _exit(127);
}

int CopyOf(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }

int PidDescriptor(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

std::string ExitState::Describe() const {
  if (signal != 0) return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  const char* const meaning = MeaningOfExitCode(code);
  return "exit code " + std::to_string(code) + (meaning == nullptr ? "" : std::string(" (") + meaning + ")");
}

ExitCode ExitState::Class() const {
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
  const Descriptor input(spec.input >= 0 ? CopyOf(spec.input) : open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) return FromErrno(errno, doing + ": its standard input");
  const Descriptor log(spec.error >= 0 ? CopyOf(spec.error)
                                       : open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (log.get() < 0) return FromErrno(errno, doing + ": opening " + spec.log_path);
  const Descriptor output(spec.output >= 0 ? CopyOf(spec.output)
                          : spec.output_path.empty()
                              ? CopyOf(log.get())
                              : open(spec.output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (output.get() < 0) return FromErrno(errno, doing + ": opening " + spec.output_path);
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, doing);
  Descriptor error_read(ends[0]);
  Descriptor error_write(ends[1]);

  std::vector<std::string> arguments = {spec.program};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = EnvironmentWith(spec.environment);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const Preparation prepared{input.get(),
                             output.get(),
                             log.get(),
                             error_write.get(),
                             spec.folder.empty() ? nullptr : spec.folder.c_str(),
                             getpid(),
                             argument_pointers.data(),
                             environment_pointers.data()};

  signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it, and then children leave no exit status
  const pid_t pid = fork();
  if (pid < 0) return FromErrno(errno, doing);
  if (pid == 0) Exec(prepared);
  setpgid(pid, pid);  // here as well: whoever comes second changes nothing
  error_write.Close();
  int error_number = 0;
  ssize_t count = 0;
  do {
    count = read(error_read.get(), &error_number, sizeof(error_number));
  } while (count < 0 && errno == EINTR);
  ChildProcess child(spec.name, spec.log_path, pid, PidDescriptor(pid));
  if (count > 0) return FromErrno(error_number, doing);
  if (child.descriptor_ < 0) return FromErrno(errno, doing + ": watching it");
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)),
      log_path_(std::move(other.log_path_)),
      pid_(std::exchange(other.pid_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      exit_(other.exit_) {}

ChildProcess::~ChildProcess() {
  if (pid_ >= 0 && !exit_.has_value()) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    int ignored = 0;
    while (waitpid(pid_, &ignored, 0) < 0 && errno == EINTR) {
    }
  }
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<ExitState> ChildProcess::Poll() {
  if (!exit_.has_value()) Reap();
  return exit_;
}

void ChildProcess::Reap() {
  int state = 0;
  if (waitpid(pid_, &state, WNOHANG) != pid_) return;
  kill(-pid_, SIGKILL);  // what it may have started itself
  exit_ = WIFSIGNALED(state) ? ExitState{0, WTERMSIG(state)} : ExitState{WEXITSTATUS(state), 0};
}

void ChildProcess::Signal(int signal_number) {
  if (!Poll().has_value()) kill(-pid_, signal_number);
}

}  // namespace espalier::run
