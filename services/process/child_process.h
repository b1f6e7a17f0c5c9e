// A program that runs beside this one: in a process group of its own (so that a Ctrl-C at the terminal reaches only
// this process, which then stops its children in order), with its output in a log file, and dead as soon as this
// process is, even by kill -9.
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
  std::map<std::string, std::string> environment;  // over this process's, if that is inherited
  bool inherits_environment = true;
  std::string folder = {};  // it works in; empty: this process's
  std::string log_path;     // appended to: standard error, and output without a path of its own
  std::string output_path;  // replaced; empty: the log
  // Descriptors of the caller's in place of /dev/null, output_path and log_path; -1: none.
  int input = -1, output = -1, error = -1;
};

struct ExitState {
  int code = 0;
  int signal = 0;  // 0: ended by itself with `code`

  bool ok() const { return code == 0 && signal == 0; }
  // "exit code 65 (bad input)", "signal 9 (Killed)"
  std::string Describe() const;
  // What this process exits with because of it: the child's code where it is one of ours, kBug for crashes and other
  // codes, kUnavailable for children that were killed.
  ExitCode Class() const;
};

// Movable; owned by one thread, which must outlive the child (the kernel ties the child's life to the thread that
// started it).
class ChildProcess {
 public:
  // Errors name the program and what failed: a log that cannot be opened, a program that does not exist.
  static Result<ChildProcess> Start(const ChildSpec& spec);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills and reaps what still runs.
  ~ChildProcess();

  const std::string& name() const { return name_; }
  const std::string& log_path() const { return log_path_; }
  pid_t pid() const { return pid_; }
  // For poll(): readable once the child has ended.
  int descriptor() const { return ended_.get(); }

  // nullopt while it runs. Does not wait.
  std::optional<ExitState> Poll();
  // To the whole process group; nothing happens once it has ended.
  void Signal(int signal_number);

 private:
  ChildProcess(std::string name, std::string log_path, pid_t pid, Descriptor ended)
      : name_(std::move(name)), log_path_(std::move(log_path)), pid_(pid), ended_(std::move(ended)) {}

  void Reap();

  std::string name_;
  std::string log_path_;
  pid_t pid_ = -1;  // -1: moved away
  Descriptor ended_;
  std::optional<ExitState> exit_;
};

}  // namespace espalier::process
