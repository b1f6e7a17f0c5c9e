// Flags for ssh connections to hosts, shared by `espalier launch` and `espalier copy`.
#pragma once

#include "services/cli/command.h"
#include "services/runner/launch/launch.h"

namespace espalier::cli {

struct HostFlags {
  launch::ConnectOptions connect;
  std::string program_folder;  // folder of Espalier's programs on the hosts; empty: the folder of this program
  int connect_seconds = 10;
};

void AddHostFlags(CLI::App* command, HostFlags* flags);
// Returns flags.connect with the paths of the ssh client and of `espalier` on the hosts, the version and the timeouts.
launch::ConnectOptions ToConnectOptions(const HostFlags& flags);

}  // namespace espalier::cli
