// Starts programs with fork and exec, for child_process.h and program_output.h.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier::process {

struct ProgramStart {
  std::string path;                                // of the program's file; not looked up in PATH
  std::vector<std::string> arguments;              // from argv[0] on
  std::map<std::string, std::string> environment;  // the complete environment
  std::string folder = {};                         // working directory; empty: that of this process
  int input = -1, output = -1, error = -1;         // the caller's descriptors that become 0, 1 and 2; all required
  // A descriptor of the caller, above 2, that the program inherits under the same number, even if it is close-on-exec;
  // -1: none.
  int inherited = -1;
  // If true, the program inherits no other descriptors, not even those that are not close-on-exec.
  bool closes_others = false;
};

struct StartedProgram {
  pid_t pid = -1;    // the caller must wait for it; also the ID of its process group
  Descriptor ended;  // a pidfd: readable once the program has ended
  // The read end of a pipe. A child that fails before or in exec writes errno to it, as an int; the pipe is at its end
  // once exec has succeeded or the child has ended.
  Descriptor failure;
};

// Starts a program in a process group of its own, with no signals blocked and the default action for SIGPIPE. The
// kernel kills it when the calling thread ends, even if this process gets SIGKILL. Does not wait for exec, because the
// program's file may be on a file server that does not respond.
Result<StartedProgram> StartProgram(const ProgramStart& start);

// Kills the process group `pid`, waits for the program that leads it, and returns the wait status of waitpid. Nothing
// else may have waited for the program.
int KillAndWait(pid_t pid);

}  // namespace espalier::process
