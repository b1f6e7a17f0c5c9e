#include "operator/client/program_output.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "operator/client/descriptor.h"
#include "services/base/environment.h"

namespace espalier::ctl::client {
namespace {

constexpr std::chrono::milliseconds kStopCheckInterval{100};  // at most so long until a stop is noticed

// The path to run, or "" where there is none. Empty entries of PATH, which mean the working folder, are passed over.
std::string FindProgram(const ProgramCall& call) {
  if (call.command.find('/') != std::string::npos) return call.command;
  std::istringstream folders(ValueOf(call.environment, "PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = folder + "/" + call.command;
    if (!folder.empty() && !call.command.empty() && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Preparation {
  int input, output;
  int error_pipe;  // closed by a successful exec, which may take its time: the file may be far away
  pid_t parent;
  const char* path;
  char* const* arguments;
  char* const* environment;
};

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void Exec(const Preparation& prepared) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the thread that started it waits for it, so this means: when the process dies
  if (getppid() != prepared.parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const bool redirected = dup2(prepared.input, STDIN_FILENO) >= 0 && dup2(prepared.output, STDOUT_FILENO) >= 0;
  // cpprestsdk's sockets are not close-on-exec; a plugin must not hold connections to the API server.
  syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (redirected) execve(prepared.path, prepared.arguments, prepared.environment);
  const int error_number = errno;
  [[maybe_unused]] const ssize_t written = write(prepared.error_pipe, &error_number, sizeof(error_number));
  _exit(127);
}

// A child and all that it has started: dead and reaped in the end. Owned by one thread, which outlives it.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid), ended_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
    setpgid(pid, pid);  // here as in the child: whoever comes second changes nothing
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { End(); }

  int ended_descriptor() const { return ended_.get(); }  // readable once it has ended

  // Kills the group while the child, dead or not, still holds its number; then reaps it. Returns waitpid's state.
  int End() {
    if (pid_ < 0) return state_;
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &state_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return state_;
  }

 private:
  pid_t pid_;  // -1: reaped
  Descriptor ended_;
  int state_ = 0;
};

struct Pipe {
  Descriptor read_end, write_end;
};

Result<Pipe> MakePipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

ssize_t ReadSome(int descriptor, void* buffer, size_t size) {
  ssize_t count = 0;
  do {
    count = read(descriptor, buffer, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

// Appends what is there without waiting. False at the end of the file.
Result<bool> Drain(int descriptor, size_t max_bytes, std::string* text) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = ReadSome(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EAGAIN) return true;
    if (count < 0) return FromErrno(errno, "reading its output");
    if (count == 0) return false;
    text->append(buffer.data(), static_cast<size_t>(count));
    if (text->size() > max_bytes) {
      return ResourceExhausted("it printed more than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

// One of the child's pipes, read as it comes and until it ends.
struct PipeReader {
  explicit PipeReader(Descriptor read_end, size_t max) : pipe(std::move(read_end)), max_bytes(max) {
    fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
  }
  pollfd waiting() const { return {is_open ? pipe.get() : -1, POLLIN, 0}; }
  Status Read() {
    if (!is_open) return {};
    ASSIGN_OR_RETURN(is_open, Drain(pipe.get(), max_bytes, &text));
    return {};
  }

  const Descriptor pipe;
  const size_t max_bytes;
  std::string text;
  bool is_open = true;
};

// Why the program could not be run, as Exec writes it; ok: nothing was written.
Status ExecFailure(const std::string& written, const std::string& path) {
  int error_number = 0;
  if (written.size() < sizeof(error_number)) return {};
  std::memcpy(&error_number, written.data(), sizeof(error_number));
  return FromErrno(error_number, path);
}

Status AwaitEnd(const Child& child, PipeReader& output, PipeReader& error, Deadline deadline,
                const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) return Cancelled("asked to stop");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Remaining());
    if (left.count() == 0) return DeadlineExceeded("it did not end in time");
    std::array<pollfd, 3> waiting = {pollfd{child.ended_descriptor(), POLLIN, 0}, output.waiting(), error.waiting()};
    const auto longest = std::min(left, kStopCheckInterval);
    const int count = poll(waiting.data(), waiting.size(), static_cast<int>(longest.count()));
    if (count < 0 && errno != EINTR) return FromErrno(errno, "waiting for it");
    if (count <= 0) continue;
    RETURN_IF_ERROR(output.Read());
    RETURN_IF_ERROR(error.Read());
    // Not the end of its output, which a process that it left behind may hold open.
    if (waiting[0].revents != 0) return {};
  }
}

Result<std::string> Run(const ProgramCall& call, Deadline deadline, const std::stop_token& stop) {
  const std::string path = FindProgram(call);
  if (path.empty()) return NotFound("not in PATH");
  const Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(Pipe error, MakePipe());
  std::vector<std::string> arguments = {call.command};
  arguments.insert(arguments.end(), call.arguments.begin(), call.arguments.end());
  std::vector<std::string> environment;
  for (const auto& [name, value] : call.environment) environment.push_back(name + "=" + value);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const Preparation prepared{.input = input.get(),
                             .output = output.write_end.get(),
                             .error_pipe = error.write_end.get(),
                             .parent = getpid(),
                             .path = path.c_str(),
                             .arguments = argument_pointers.data(),
                             .environment = environment_pointers.data()};
  const pid_t pid = fork();
  if (pid < 0) return FromErrno(errno, "fork");
  if (pid == 0) Exec(prepared);
  Child child(pid);
  output.write_end.Close();
  error.write_end.Close();
  if (child.ended_descriptor() < 0) return Unavailable("pidfd_open failed");
  PipeReader printed(std::move(output.read_end), call.max_output_bytes);
  PipeReader failure(std::move(error.read_end), sizeof(int));
  RETURN_IF_ERROR(AwaitEnd(child, printed, failure, deadline, stop));
  const int state = child.End();
  RETURN_IF_ERROR(ExecFailure(failure.text, path));
  if (WIFSIGNALED(state)) return Unavailable("signal " + std::to_string(WTERMSIG(state)));
  if (WEXITSTATUS(state) != 0) return Unavailable("exit code " + std::to_string(WEXITSTATUS(state)));
  return std::move(printed.text);
}

}  // namespace

Result<std::string> OutputOfProgram(const ProgramCall& call, Deadline deadline, const std::stop_token& stop) {
  return Run(call, deadline, stop).While("running " + call.command);
}

}  // namespace espalier::ctl::client
