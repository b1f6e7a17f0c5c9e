// kubeconfig files (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/client/connection.h"

namespace espalier::ctl::client {

// What kubectl's flags of the same names put in the place of what the files say; empty: nothing.
struct KubeOverrides {
  std::string cluster;  // instead of the context's
  std::string user;
  std::string server;  // instead of the cluster's; needs no file at all
  std::string ca_file;
  std::string tls_server_name;
  bool skip_verification = false;
  std::string token;  // instead of the user's token, token file or plugin
  std::string as, as_uid;
  std::vector<std::string> as_groups;

  // Returns whether a field says which cluster or user is meant, or how the cluster is verified: the account of a pod
  // is then no substitute. Impersonation (as, as_uid, as_groups) works with it.
  bool chooses_a_cluster_or_user() const {
    return !cluster.empty() || !user.empty() || !server.empty() || !token.empty() || !ca_file.empty() ||
           !tls_server_name.empty() || skip_verification;
  }
};

struct KubeConfigOptions {
  // Paths, the first to name something wins; from --kubeconfig, or $KUBECONFIG split at ':', or ~/.kube/config.
  std::vector<std::string> paths;
  bool paths_are_chosen = false;                   // by --kubeconfig or $KUBECONFIG: one of them must exist
  std::string context;                             // empty: current-context
  std::map<std::string, std::string> environment;  // for exec plugins
  KubeOverrides overrides = {};
};

// Reads, merges and resolves; relative paths are relative to the file that has them, *-data wins over files. Files that
// do not exist are passed over as long as one does. Errors name file, entry and field and never repeat a secret;
// InvalidArgument for what is not understood (auth-provider), NotFound for a context, cluster or user that is not
// there.
Result<Connection> LoadKubeConfig(const KubeConfigOptions& options);

// InvalidArgument for groups or a uid without a user.
Status Impersonate(const KubeOverrides& overrides, Connection* connection);

// The paths above from flag and environment.
std::vector<std::string> KubeConfigPaths(const std::string& flag,
                                         const std::map<std::string, std::string>& environment);

}  // namespace espalier::ctl::client
