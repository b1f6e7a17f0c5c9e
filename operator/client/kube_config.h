// kubeconfig files (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/client/connection.h"

namespace espalier::ctl::client {

struct KubeConfigOptions {
  // Paths, the first to name something wins; from --kubeconfig, or $KUBECONFIG split at ':', or ~/.kube/config.
  std::vector<std::string> paths;
  std::string context;                             // empty: current-context
  std::map<std::string, std::string> environment;  // for exec plugins
};

// Reads, merges and resolves; relative paths are relative to the file that has them, *-data wins over files. Files that
// do not exist are passed over as long as one does. Errors name file, entry and field and never repeat a secret;
// InvalidArgument for what is not understood (auth-provider), NotFound for a context, cluster or user that is not
// there.
Result<Connection> LoadKubeConfig(const KubeConfigOptions& options);

// The paths above from flag and environment.
std::vector<std::string> KubeConfigPaths(const std::string& flag,
                                         const std::map<std::string, std::string>& environment);

}  // namespace espalier::ctl::client
