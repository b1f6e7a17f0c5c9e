// Starts programs by fork and exec: what child_process.h and program_output.h have in common.
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
  std::map<std::string, std::string> environment;  // all of it
  std::string folder = {};                         // it works in; empty: this process's
  int input = -1, output = -1, error = -1;         // the caller's descriptors that become 0, 1 and 2
  // Of this process's other descriptors none reaches it, close-on-exec or not.
  bool closes_others = false;
};

struct StartedProgram {
  pid_t pid = -1;    // the caller's, to wait for: also the number of the process group that it leads
  Descriptor ended;  // a pidfd: readable once the program has ended
  // Ends empty once exec has worked. Otherwise an int comes before the end: errno of what failed in the child.
  Descriptor failure;
};

// Starts a program in a process group of its own, with no signal blocked and SIGPIPE at its default. It is killed when
// the thread that calls this ends, even by kill -9 of this process. Does not wait for exec: its file may be on a file
// server that does not answer.
Result<StartedProgram> StartProgram(const ProgramStart& start);

// Kills the group of a program that has not been waited for, then waits for it. Returns waitpid's state.
int KillAndWait(pid_t pid);

}  // namespace espalier::process
