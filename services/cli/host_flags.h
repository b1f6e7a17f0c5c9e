// The flags by which `espalier launch` and `espalier copy` reach hosts.
#pragma once

#include "services/cli/command.h"
#include "services/runner/launch/launch.h"

namespace espalier::cli {

struct HostFlags {
  launch::ConnectOptions connect;
  std::string program_folder;  // on the hosts; empty: this program's
  int connect_seconds = 10;
};

void AddHostFlags(CLI::App* command, HostFlags* flags);
launch::ConnectOptions ToConnectOptions(const HostFlags& flags);

}  // namespace espalier::cli
