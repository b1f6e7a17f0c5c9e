// `espalier host`: the agent of a launch on one host. `espalier launch` starts it over ssh. It starts the host's
// processes when the launcher requests it, and reports their state, logs and exit codes (message.h).
//
// Guarantees: when the agent ends for any reason, none of its processes is left. It stops them role by role
// (run/fleet.h) and ends if its standard input is closed (the launcher has died or the connection is broken), on
// SIGTERM, or if the launcher has sent nothing for too long: 10 minutes before the message `begin`, afterwards the
// lostSeconds of `begin`.
#pragma once

#include <string>

namespace espalier::launch {

struct HostAgentOptions {
  std::string version;         // sent to the launcher, which refuses another version than its own
  std::string program_folder;  // folder of the role binaries
  int input = 0;               // descriptor of messages from the launcher
  int output = 1;              // descriptor of messages to the launcher
};

// Blocks until the connection has ended and all processes are stopped. Returns the exit code.
int RunHostAgent(const HostAgentOptions& options);

}  // namespace espalier::launch
