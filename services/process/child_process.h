// A child process in a process group of its own, so that Ctrl-C at the terminal reaches only this process, which then
// decides in which order it stops its children. The child's output goes to a log file. The kernel kills the child when
// this process ends, even if this process gets SIGKILL.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/descriptor.h"
#include "services/base/exit_code.h"
#include "services/base/status.h"

namespace espalier::process {

struct ChildSpec {
  std::string name;     // "server-1": for messages
  std::string program;  // path
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // the whole environment, or overrides of an inherited one
  bool inherits_environment = true;
  std::string folder = {};  // working directory; empty: that of this process
  std::string log_path;     // standard error, and standard output if output_path is empty, are appended to this file
  std::string output_path;  // standard output overwrites this file; empty: log_path
  // The caller's descriptors to use instead of /dev/null, output_path and log_path; -1: none.
  int input = -1, output = -1, error = -1;
  int inherited = -1;  // a further descriptor that the child inherits (ProgramStart::inherited); -1: none
};

struct ExitState {
  int code = 0;
  int signal = 0;  // the signal that killed the process; 0: it exited with `code`

  bool ok() const { return code == 0 && signal == 0; }
  // Returns "exit code 65 (bad input)" or "signal 9 (Killed)".
  std::string Describe() const;
  // Returns the code that this process should exit with because of the child: the child's code if it is an ExitCode,
  // kUnavailable if the child was killed by SIGKILL, SIGTERM, SIGINT or SIGHUP, and kBug for other signals and codes.
  ExitCode ToExitCode() const;
};

// Move-constructible. Not thread-safe: used by one thread, which must outlive the child, because the kernel kills the
// child when the thread that started it ends.
class ChildProcess {
 public:
  // Starts the program. Errors name the program and the problem, such as a log that cannot be opened or a program that
  // does not exist.
  static Result<ChildProcess> Start(const ChildSpec& spec);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // If the child still runs, kills its process group and reaps the child.
  ~ChildProcess();

  const std::string& name() const { return name_; }
  const std::string& log_path() const { return log_path_; }
  pid_t pid() const { return pid_; }
  // Returns a descriptor for poll() that becomes readable when the child has ended.
  int descriptor() const { return ended_.get(); }

  // Returns the exit state, or nullopt while the child runs. Does not block.
  std::optional<ExitState> Poll();
  // Sends a signal to the whole process group. No effect after the child has ended.
  void Signal(int signal_number);

 private:
  ChildProcess(std::string name, std::string log_path, pid_t pid, Descriptor ended)
      : name_(std::move(name)), log_path_(std::move(log_path)), pid_(pid), ended_(std::move(ended)) {}

  // Sets exit_ if the child has ended.
  void Reap();

  std::string name_;
  std::string log_path_;
  pid_t pid_ = -1;  // -1: moved away
  Descriptor ended_;
  std::optional<ExitState> exit_;
};

}  // namespace espalier::process
