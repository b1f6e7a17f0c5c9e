// The ssh client's command line as a value, and what its failures mean. Everything that is not said here is as the
// user's ssh_config says: keys, host keys, jumps, aliases.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "services/base/environment.h"
#include "services/base/status.h"
#include "services/process/child_process.h"

namespace espalier::launch {

struct SshOptions {
  std::string program = "ssh";        // a path (ProgramPath)
  std::string user;                   // empty: as ssh_config says
  uint16_t port = 0;                  // 0: likewise
  std::string identity_file;          // empty: likewise
  std::vector<std::string> settings;  // "Name=value", as for ssh -o
  std::chrono::seconds connect_timeout{10};
};

// The path of `program`, found along PATH unless it is one already; as it is where there is none such.
std::string ProgramPath(const std::string& program, const EnvironmentMap& environment);

// Without the program's own name. `command` reaches the host's shell as exactly these words.
std::vector<std::string> SshArguments(const SshOptions& options, const std::string& host,
                                      const std::vector<std::string>& command);

// Why a connection ended. `said`: the last of what ssh and the program on the host wrote to standard error. `program`:
// what was to run there. PermissionDenied: a key or a host key was refused; NotFound: no such program;
// FailedPrecondition: one of another version; Unavailable.
Status SshFailure(const std::string& host, const std::string& program, const process::ExitState& exit,
                  const std::string& said);

}  // namespace espalier::launch
