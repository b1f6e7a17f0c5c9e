// Reads kubeconfig files (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/client/connection.h"

namespace espalier::ctl::client {

// Values of flags. They replace values of the files, as kubectl's flags of the same names do. Empty: not replaced.
struct KubeOverrides {
  std::string cluster;  // replaces the cluster of the context
  std::string user;
  std::string server;  // replaces the server of the cluster; no file is then required, unless context or
                       // paths_are_chosen of KubeConfigOptions is set
  std::string ca_file;
  std::string tls_server_name;
  bool skip_verification = false;
  std::string token;  // replaces the user's token, token file or plugin
  std::string as, as_uid;
  std::vector<std::string> as_groups;

  // Returns true if a field selects the cluster or the user, or changes how the cluster is verified. A pod's service
  // account must not be used then. Impersonation (as, as_uid, as_groups) works with a service account, so it does not
  // count.
  bool chooses_a_cluster_or_user() const {
    return !cluster.empty() || !user.empty() || !server.empty() || !token.empty() || !ca_file.empty() ||
           !tls_server_name.empty() || skip_verification;
  }
};

struct KubeConfigOptions {
  // Paths from --kubeconfig, or from $KUBECONFIG (separated by ':'), or ~/.kube/config. If several files have an entry
  // of the same name, the entry of the first file counts.
  std::vector<std::string> paths;
  bool paths_are_chosen = false;                   // by --kubeconfig or $KUBECONFIG: at least one file must exist
  std::string context;                             // empty: current-context
  std::map<std::string, std::string> environment;  // for exec plugins
  KubeOverrides overrides = {};
};

// Reads and merges the files and returns the connection of the context. Relative paths are relative to their file;
// *-data fields take precedence over files. Missing files are skipped if at least one exists. Returns NotFound if a
// required file, or the context, cluster or user, does not exist, and InvalidArgument for unsupported fields such as
// auth-provider. Error messages name the entry and the field, and also the file if it cannot be parsed. They never
// contain a secret.
Result<Connection> LoadKubeConfig(const KubeConfigOptions& options);

// Sets the connection's impersonation to the values of `as`, `as_uid` and `as_groups` that are not empty. Returns
// InvalidArgument if the connection then has groups or a uid without a user.
Status Impersonate(const KubeOverrides& overrides, Connection* connection);

// Returns KubeConfigOptions::paths for the flag --kubeconfig and the environment.
std::vector<std::string> FindKubeConfigPaths(const std::string& flag,
                                             const std::map<std::string, std::string>& environment);

}  // namespace espalier::ctl::client
