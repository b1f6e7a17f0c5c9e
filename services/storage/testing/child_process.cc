#include "services/storage/testing/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace espalier::storage {
namespace {

std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments,
                                         const std::map<std::string, std::string>& environment,
                                         const std::string& log_path) {
  std::vector<std::string> argument_texts = arguments, environment_texts;
  for (const auto& [name, value] : environment) environment_texts.push_back(name + "=" + value);
  const std::vector<char*> argv = PointersTo(argument_texts), envp = PointersTo(environment_texts);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return FromErrno(errno, "starting " + arguments[0]);
  if (pid == 0) {  // only calls that are safe after a fork
    // A test that crashes takes its child along.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDONLY), log = open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (getppid() != parent || nothing < 0 || log < 0) _exit(126);
    dup2(nothing, 0);
    dup2(log, 1);
    dup2(log, 2);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

ChildProcess::~ChildProcess() {
  if (!IsRunning()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildProcess::Signal(int number) const {
  if (!IsRunning()) return;
  kill(pid_, number);
  siginfo_t ignored{};
  if (number == SIGSTOP) waitid(P_PID, static_cast<id_t>(pid_), &ignored, WSTOPPED | WEXITED | WNOWAIT);
}

bool ChildProcess::IsRunning() const {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

}  // namespace espalier::storage
