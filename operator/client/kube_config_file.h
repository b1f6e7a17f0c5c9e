// One kubeconfig file, read and typed: nothing is opened, looked up or chosen yet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/json.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::client {

// Paths are as in the file, or below the file's folder where they were relative. PEM texts are decoded.
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
  // What it has that is not understood ("auth-provider"), and why; an error for who chooses this user.
  std::string not_understood;
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

// `path` is where the text is from. InvalidArgument names it, the entry and the field, and no value. Unknown fields are
// passed over, as kubectl does.
Result<KubeConfigFile> ParseKubeConfigFile(const std::string& text, const std::string& path);

// Entries and current-context that `config` does not have yet: who comes first wins, entry by entry.
void MergeKubeConfig(KubeConfigFile later, KubeConfigFile* config);

}  // namespace espalier::ctl::client
