// AwaitEnd polls the program's pidfd, its output and the pipe on which it reports that exec failed. On an error, the
// destructor of Child kills the program's process group.
#include "services/process/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "services/base/descriptor.h"
#include "services/base/environment.h"
#include "services/process/start_program.h"

namespace espalier::process {
namespace {

constexpr std::chrono::milliseconds kStopCheckInterval{100};  // the longest time until a stop request is noticed

// Returns the path of the program, or "" if it is not found. Skips empty entries of PATH, which mean the working
// directory.
std::string FindProgram(const ProgramCall& call) {
  if (call.command.find('/') != std::string::npos) return call.command;
  std::istringstream folders(FindValue(call.environment, "PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = folder + "/" + call.command;
    if (!folder.empty() && !call.command.empty() && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// A child, which the destructor kills together with its process group, and reaps. Used by the thread that started the
// child, since the kernel kills the child when that thread ends.
class Child {
 public:
  explicit Child(const StartedProgram& started) : pid_(started.pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { End(); }

  // Kills the process group, reaps the child and returns its wait status. Idempotent.
  int End() {
    if (pid_ >= 0) state_ = KillAndWait(std::exchange(pid_, -1));
    return state_;
  }

 private:
  pid_t pid_;  // -1: reaped
  int state_ = 0;
};

ssize_t ReadSome(int descriptor, void* buffer, size_t size) {
  ssize_t count = 0;
  do {
    count = read(descriptor, buffer, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

// Appends the available bytes without blocking. Returns false at the end of the file.
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

// Reads one of the child's pipes until its end.
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

// Returns the error that the child has written to StartedProgram::failure; OK if it has written none.
Status ParseExecFailure(const std::string& written, const std::string& path) {
  int error_number = 0;
  if (written.size() < sizeof(error_number)) return {};
  std::memcpy(&error_number, written.data(), sizeof(error_number));
  return FromErrno(error_number, path);
}

Status AwaitEnd(const Descriptor& ended, PipeReader& output, PipeReader& error, Deadline deadline,
                const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) return Cancelled("asked to stop");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Remaining());
    if (left.count() == 0) return DeadlineExceeded("it did not end in time");
    std::array<pollfd, 3> waiting = {pollfd{ended.get(), POLLIN, 0}, output.waiting(), error.waiting()};
    const auto longest = std::min(left, kStopCheckInterval);
    const int count = poll(waiting.data(), waiting.size(), static_cast<int>(longest.count()));
    if (count < 0 && errno != EINTR) return FromErrno(errno, "waiting for it");
    if (count <= 0) continue;
    RETURN_IF_ERROR(output.Read());
    RETURN_IF_ERROR(error.Read());
    // Does not wait for the end of the output, which processes that the child has started may keep open.
    if (waiting[0].revents != 0) return {};
  }
}

Result<std::string> Run(const ProgramCall& call, Deadline deadline, const std::stop_token& stop) {
  const std::string path = FindProgram(call);
  if (path.empty()) return NotFound("not in PATH");
  const Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  std::vector<std::string> arguments = {call.command};
  arguments.insert(arguments.end(), call.arguments.begin(), call.arguments.end());
  ASSIGN_OR_RETURN(StartedProgram started, StartProgram({.path = path,
                                                         .arguments = std::move(arguments),
                                                         .environment = call.environment,
                                                         .input = input.get(),
                                                         .output = output.write_end.get(),
                                                         .error = STDERR_FILENO,
                                                         // cpprestsdk's sockets are not close-on-exec.
                                                         .closes_others = true}));
  Child child(started);
  output.write_end.Close();
  PipeReader printed(std::move(output.read_end), call.max_output_bytes);
  PipeReader failure(std::move(started.failure), sizeof(int));
  RETURN_IF_ERROR(AwaitEnd(started.ended, printed, failure, deadline, stop));
  const int state = child.End();
  RETURN_IF_ERROR(ParseExecFailure(failure.text, path));
  if (WIFSIGNALED(state)) return Unavailable("signal " + std::to_string(WTERMSIG(state)));
  if (WEXITSTATUS(state) != 0) return Unavailable("exit code " + std::to_string(WEXITSTATUS(state)));
  return std::move(printed.text);
}

}  // namespace

Result<std::string> RunProgram(const ProgramCall& call, Deadline deadline, const std::stop_token& stop) {
  return Run(call, deadline, stop).While("running " + call.command);
}

}  // namespace espalier::process
