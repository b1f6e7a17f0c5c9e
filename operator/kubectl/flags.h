// The command line of kubectl-espalier.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "CLI/CLI.hpp"
#include "operator/client/kube_config.h"
#include "operator/kubectl/commands/commands.h"

namespace espalier::ctl::kubectl {

// Flags with the names and meanings of kubectl's own.
struct ClusterFlags {
  std::string kubeconfig;  // paths, separated by ':'; empty: $KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: current-context
  std::string name_space;  // empty: that of the context
  client::KubeOverrides overrides;
  std::chrono::nanoseconds request_timeout{0};  // of each request; 0: the program's default
};

using Command = std::function<Result<int>(const CommandContext&)>;

// Declares all subcommands. Parsing stores the cluster flags in *cluster and the selected subcommand in *chosen. Both
// must outlive the parsing and the command.
void AddCommands(CLI::App* app, ClusterFlags* cluster, Command* chosen);

}  // namespace espalier::ctl::kubectl
