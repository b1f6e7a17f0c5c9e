// Builds the command line of the ssh client and interprets its failures. The user's ssh_config applies to everything
// that is not set here: keys, host keys, jump hosts, aliases.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "services/base/environment.h"
#include "services/base/status.h"
#include "services/process/child_process.h"

namespace espalier::launch {

struct SshOptions {
  std::string program = "ssh";        // path of the client (FindExecutable)
  std::string user;                   // empty: as in ssh_config
  uint16_t port = 0;                  // 0: as in ssh_config
  std::string identity_file;          // empty: as in ssh_config
  std::vector<std::string> settings;  // "Name=value", as for ssh -o
  std::chrono::seconds connect_timeout{10};
};

// Returns the path of the executable `program` in the PATH of `environment`. Returns `program` unchanged if it contains
// a slash or is not found.
std::string FindExecutable(const std::string& program, const EnvironmentMap& environment);

// Returns the arguments of ssh, without its own name. The words of `command` are quoted, so that the host's shell
// passes them on unchanged.
std::vector<std::string> MakeSshArguments(const SshOptions& options, const std::string& host,
                                          const std::vector<std::string>& command);

// Returns why a connection ended. `program` is the program that ssh was to run on the host; `ssh_output` is the end of
// what ssh and that program wrote to standard error. PermissionDenied: a key or a host key was rejected. NotFound: the
// program does not exist or cannot be executed. FailedPrecondition: the program has another version. Otherwise
// Unavailable.
Status SshFailure(const std::string& host, const std::string& program, const process::ExitState& exit,
                  const std::string& ssh_output);

}  // namespace espalier::launch
