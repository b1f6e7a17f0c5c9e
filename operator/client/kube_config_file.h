// Parses one kubeconfig file into typed entries. Opens no other files and selects no context.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/json.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::client {

// In the structs below, relative paths are already resolved against the folder of the file, and PEM texts are decoded
// from base64.
struct KubeCluster {
  std::string server;
  std::string tls_server_name;
  std::string ca_file;
  std::string ca_pem;
  bool skip_verification = false;
  std::string proxy_url;
  kube::Json exec_config;  // extension client.authentication.k8s.io/exec
};

struct KubeExec {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string interactive_mode;
};

struct KubeUser {
  telemetry::Secret token;
  std::string token_file;
  std::string certificate_file;
  std::string certificate_pem;
  std::string key_file;
  telemetry::Secret key_pem;
  std::string impersonate_user;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::optional<KubeExec> exec;
  // The first unsupported field and why it is not supported: "auth-provider was removed in Kubernetes 1.26: use exec".
  // It is an error only if this user is selected. Empty: none.
  std::string unsupported_field;
};

struct KubeContext {
  std::string cluster;
  std::string user;
  std::string name_space;
};

struct KubeConfigFile {
  std::string current_context;
  std::map<std::string, KubeCluster> clusters;
  std::map<std::string, KubeUser> users;
  std::map<std::string, KubeContext> contexts;
};

// Parses the text of the file at `path`. Returns InvalidArgument if it is not a valid kubeconfig file; the message
// names path, entry and field, but contains no values. Unknown fields are ignored; kubectl ignores them too.
Result<KubeConfigFile> ParseKubeConfigFile(const std::string& text, const std::string& path);

// Adds the entries and the current-context of `later` that `config` lacks.
void MergeKubeConfig(KubeConfigFile later, KubeConfigFile* config);

}  // namespace espalier::ctl::client
