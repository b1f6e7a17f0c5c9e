// `espalier host`: the end of a launch on one of its hosts. `espalier launch` starts it through ssh; it starts the
// host's processes, as `espalier run` does on one machine, and tells what becomes of them.
//
// Guarantees: when it ends, however it ends, none of its processes is left. It ends, stopping them in order, when its
// standard input is closed (the launcher or its connection is gone), when the launcher has not been heard for the time
// it gave, or when it is asked to (SIGTERM). It never outlives its processes' stop by more than the grace it was given.
#pragma once

#include <string>

namespace espalier::launch {

struct HostAgentOptions {
  std::string version;
  std::string program_folder;  // of the role binaries
  int input = 0;               // from the launcher
  int output = 1;              // to the launcher
};

// Until the conversation is over. The exit code.
int RunHostAgent(const HostAgentOptions& options);

}  // namespace espalier::launch
