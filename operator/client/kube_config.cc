// LoadKubeConfig merges the files, selects context, cluster and user, applies the overrides, and makes a Connection of
// cluster and user. Certificates, keys and tokens are read and checked once here, so that a wrong file is reported at
// the start and not at the first request; token files and certificate files are read again later (connection.h).
#include "operator/client/kube_config.h"

#include <sstream>

#include "operator/client/bearer_token.h"
#include "operator/client/certificate_pair.h"
#include "operator/client/exec_credential.h"
#include "operator/client/exec_plugin.h"
#include "operator/client/kube_config_file.h"
#include "operator/client/server_url.h"
#include "operator/client/yaml_json.h"
#include "services/base/base64.h"
#include "services/base/environment.h"
#include "services/base/file.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using telemetry::Secret;

constexpr size_t kMaxPemBytes = 1 << 20;

Result<KubeConfigFile> ReadAndMerge(const std::vector<std::string>& paths) {
  if (paths.empty()) return NotFound("no kubeconfig: no path is given");
  KubeConfigFile config;
  bool has_any = false;
  std::string missing;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadFile(path, kMaxYamlBytes, FileKinds::kRegular);
    if (text.status().code() == StatusCode::kNotFound) {
      missing += (missing.empty() ? "" : ", ") + path;
      continue;
    }
    if (!text.ok()) return text.status();
    ASSIGN_OR_RETURN(KubeConfigFile file, ParseKubeConfigFile(*text, path));
    MergeKubeConfig(std::move(file), &config);
    has_any = true;
  }
  if (!has_any) return NotFound("no kubeconfig: there is no " + missing);
  return config;
}

template <class T>
Result<T> FindEntry(const std::map<std::string, T>& entries, const char* kind, const std::string& name) {
  const auto found = entries.find(name);
  if (found == entries.end()) return NotFound(std::string("there is no ") + kind + " '" + name + "'");
  return found->second;
}

Status ResolveAuthorities(const KubeCluster& cluster, Connection* connection) {
  connection->skip_verification = cluster.skip_verification;
  connection->ca_pem = cluster.ca_pem;
  if (cluster.ca_pem.empty()) connection->ca_file = cluster.ca_file;
  const bool has_authorities = !connection->ca_pem.empty() || !connection->ca_file.empty();
  if (cluster.skip_verification && has_authorities) {
    return InvalidArgument("insecure-skip-tls-verify cannot be combined with a certificate-authority");
  }
  if (!connection->ca_pem.empty()) return CheckAuthorities(connection->ca_pem).While("certificate-authority-data");
  if (connection->ca_file.empty()) return {};
  ASSIGN_OR_RETURN(const std::string pem,
                   ReadFile(connection->ca_file, kMaxPemBytes, FileKinds::kRegular).While("certificate-authority"));
  return CheckAuthorities(pem).While("certificate-authority " + connection->ca_file);
}

// Returns the URL without "user:password@", which is allowed in the URL of a proxy but not in that of a server.
std::string RemoveUser(std::string url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const size_t begin = scheme + 3;
  const size_t at = url.rfind('@', url.find('/', begin));
  if (at != std::string::npos && at >= begin) url.erase(begin, at + 1 - begin);
  return url;
}

Status ResolveCluster(const KubeCluster& cluster, Connection* connection) {
  if (cluster.server.empty()) return InvalidArgument("server is missing");
  ASSIGN_OR_RETURN(const ServerUrl url, ParseServerUrl(cluster.server).While("server"));
  connection->host = url.host;
  connection->port = url.port;
  connection->tls = url.tls;
  connection->base_path = url.path;
  connection->server_name = cluster.tls_server_name;
  if (!cluster.proxy_url.empty()) {
    ASSIGN_OR_RETURN(const ServerUrl proxy, ParseServerUrl(RemoveUser(cluster.proxy_url)).While("proxy-url"));
    if (!proxy.path.empty()) return InvalidArgument("proxy-url: expected a URL without a path");
    connection->proxy_url = cluster.proxy_url;
  }
  return ResolveAuthorities(cluster, connection);
}

// Returns the source of the client certificate, or null if there is none. A *-data field takes precedence over a file.
// The certificate and the key are read again from time to time only if both are in files.
Result<std::shared_ptr<CredentialsSource>> MakeCertificateSource(const KubeUser& user) {
  const bool has_certificate = !user.certificate_pem.empty() || !user.certificate_file.empty();
  const bool has_key = !user.key_pem.empty() || !user.key_file.empty();
  if (has_certificate != has_key) {
    return InvalidArgument(has_key ? "client-key without client-certificate" : "client-certificate without client-key");
  }
  if (!has_certificate) return std::shared_ptr<CredentialsSource>();
  std::shared_ptr<CredentialsSource> source;
  if (user.certificate_pem.empty() && user.key_pem.empty()) {
    source = MakeCertificateFileSource(user.certificate_file, user.key_file);
  } else {
    Credentials fixed{.client_certificate_pem = user.certificate_pem, .client_key_pem = user.key_pem};
    if (user.certificate_pem.empty()) {
      ASSIGN_OR_RETURN(fixed.client_certificate_pem,
                       ReadFile(user.certificate_file, kMaxPemBytes, FileKinds::kRegular));
    }
    if (user.key_pem.empty()) {
      ASSIGN_OR_RETURN(std::string key, ReadFile(user.key_file, kMaxPemBytes, FileKinds::kRegular));
      fixed.client_key_pem = Secret(std::move(key));
    }
    RETURN_IF_ERROR(CheckCertificatePair(fixed.client_certificate_pem, fixed.client_key_pem.Reveal())
                        .While("client-certificate and client-key"));
    source = MakeFixedCredentials(std::move(fixed));
  }
  // Reports an error now, not at the first request.
  RETURN_IF_ERROR(source->Get(Deadline::After(std::chrono::seconds(1))).status());
  return source;
}

Result<std::shared_ptr<CredentialsSource>> MakeTokenSource(const KubeUser& user) {
  if (!user.token_file.empty()) {
    std::shared_ptr<CredentialsSource> source = MakeTokenFileSource(user.token_file);
    RETURN_IF_ERROR(source->Get(Deadline::After(std::chrono::seconds(1))).status().While("tokenFile"));
    return source;
  }
  if (user.token.empty()) return std::shared_ptr<CredentialsSource>();
  ASSIGN_OR_RETURN(Secret token, ParseBearerToken(user.token.Reveal()).While("token"));
  return MakeFixedCredentials({.bearer_token = std::move(token)});
}

// Returns spec.cluster of KUBERNETES_EXEC_INFO.
Result<Json> MakeClusterInfo(const KubeCluster& cluster) {
  std::string ca_pem = cluster.ca_pem;
  if (ca_pem.empty() && !cluster.ca_file.empty()) {
    ASSIGN_OR_RETURN(ca_pem, ReadFile(cluster.ca_file, kMaxPemBytes, FileKinds::kRegular));
  }
  Json info = {{"server", cluster.server}};
  if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
  if (cluster.skip_verification) info["insecure-skip-tls-verify"] = true;
  if (!ca_pem.empty()) info["certificate-authority-data"] = EncodeBase64(ca_pem);
  if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
  if (!cluster.exec_config.is_null()) info["config"] = cluster.exec_config;
  return info;
}

Status CheckExec(const KubeExec& exec) {
  if (exec.command.empty()) return InvalidArgument("exec.command is missing");
  if (!IsExecApiVersion(exec.api_version)) {
    return InvalidArgument("exec.apiVersion is neither client.authentication.k8s.io/v1 nor .../v1beta1");
  }
  const std::string& mode = exec.interactive_mode;
  if (mode == "Always")
    return InvalidArgument("exec.interactiveMode is Always, but the plugin runs without a terminal");
  if (mode == "Never" || mode == "IfAvailable") return {};
  if (mode.empty() && exec.api_version.ends_with("/v1beta1")) return {};
  return InvalidArgument("exec.interactiveMode is neither Never nor IfAvailable");
}

Result<std::shared_ptr<CredentialsSource>> MakePlugin(const KubeExec& exec, const KubeCluster& cluster,
                                                      const KubeConfigOptions& options) {
  RETURN_IF_ERROR(CheckExec(exec));
  ExecPluginOptions plugin{.api_version = exec.api_version,
                           .command = exec.command,
                           .arguments = exec.arguments,
                           .environment = options.environment,
                           .install_hint = exec.install_hint};
  for (const auto& [name, value] : exec.environment) plugin.environment[name] = value;
  if (exec.provide_cluster_info) {
    ASSIGN_OR_RETURN(plugin.cluster, MakeClusterInfo(cluster));
  }
  return MakeExecPluginSource(std::move(plugin));
}

Result<std::shared_ptr<CredentialsSource>> MakeCredentials(const KubeUser& user, const KubeCluster& cluster,
                                                           const KubeConfigOptions& options) {
  if (!user.unsupported_field.empty()) return InvalidArgument(user.unsupported_field);
  ASSIGN_OR_RETURN(std::shared_ptr<CredentialsSource> certificate, MakeCertificateSource(user));
  ASSIGN_OR_RETURN(std::shared_ptr<CredentialsSource> token, MakeTokenSource(user));
  if (user.exec.has_value()) {
    if (token != nullptr || certificate != nullptr) {
      return InvalidArgument("exec cannot be combined with another authentication method");
    }
    return MakePlugin(*user.exec, cluster, options);
  }
  if (token != nullptr && certificate != nullptr) return CombineTokenAndCertificate(token, certificate);
  if (token != nullptr) return token;
  return certificate != nullptr ? certificate : MakeFixedCredentials({});  // anonymous
}

void Override(const KubeOverrides& overrides, KubeCluster* cluster, KubeUser* user) {
  if (!overrides.server.empty()) cluster->server = overrides.server;
  if (!overrides.tls_server_name.empty()) cluster->tls_server_name = overrides.tls_server_name;
  if (!overrides.ca_file.empty() || overrides.skip_verification) {
    cluster->ca_file = overrides.ca_file;
    cluster->ca_pem.clear();
    cluster->skip_verification = overrides.skip_verification;
  }
  if (overrides.token.empty()) return;
  user->token = Secret(overrides.token);
  user->token_file.clear();
  user->exec.reset();
}

}  // namespace

Status Impersonate(const KubeOverrides& overrides, Connection* connection) {
  if (!overrides.as.empty()) connection->impersonate_user = overrides.as;
  if (!overrides.as_uid.empty()) connection->impersonate_uid = overrides.as_uid;
  if (!overrides.as_groups.empty()) connection->impersonate_groups = overrides.as_groups;
  const bool needs_user = !connection->impersonate_groups.empty() || !connection->impersonate_uid.empty();
  if (needs_user && connection->impersonate_user.empty())
    return InvalidArgument("'as-groups' or 'as-uid' is set without 'as'");
  return {};
}

Result<Connection> LoadKubeConfig(const KubeConfigOptions& options) {
  const KubeOverrides& overrides = options.overrides;
  Result<KubeConfigFile> read = ReadAndMerge(options.paths);
  const bool needs_no_file = !overrides.server.empty() && options.context.empty() && !options.paths_are_chosen;
  if (!read.ok() && !(needs_no_file && read.status().code() == StatusCode::kNotFound)) return read.status();
  const KubeConfigFile config = read.ok() ? *std::move(read) : KubeConfigFile();
  const std::string& name = options.context.empty() ? config.current_context : options.context;
  const bool needs_no_context = !overrides.server.empty() || !overrides.cluster.empty();
  if (name.empty() && !needs_no_context) {
    return NotFound("kubeconfig: no context is chosen, and there is no current-context");
  }
  KubeContext context;
  if (!name.empty()) {
    ASSIGN_OR_RETURN(context, FindEntry(config.contexts, "context", name).While("kubeconfig"));
  }
  const std::string doing = name.empty() ? "kubeconfig" : "kubeconfig: context '" + name + "'";
  if (!overrides.cluster.empty()) context.cluster = overrides.cluster;
  if (!overrides.user.empty()) context.user = overrides.user;
  KubeCluster cluster;
  if (!context.cluster.empty() || overrides.server.empty()) {
    ASSIGN_OR_RETURN(cluster, FindEntry(config.clusters, "cluster", context.cluster).While(doing));
  }
  KubeUser user;  // stays empty (anonymous) if the context has no user
  if (!context.user.empty()) {
    ASSIGN_OR_RETURN(user, FindEntry(config.users, "user", context.user).While(doing));
  }
  Override(overrides, &cluster, &user);
  Connection connection;
  connection.name_space = context.name_space;
  connection.impersonate_user = user.impersonate_user;
  connection.impersonate_uid = user.impersonate_uid;
  connection.impersonate_groups = user.impersonate_groups;
  RETURN_IF_ERROR(Impersonate(overrides, &connection).While("kubeconfig: user '" + context.user + "'"));
  RETURN_IF_ERROR(ResolveCluster(cluster, &connection).While("kubeconfig: cluster '" + context.cluster + "'"));
  ASSIGN_OR_RETURN(connection.credentials,
                   MakeCredentials(user, cluster, options).While("kubeconfig: user '" + context.user + "'"));
  return connection;
}

std::vector<std::string> FindKubeConfigPaths(const std::string& flag,
                                             const std::map<std::string, std::string>& environment) {
  if (!flag.empty()) return {flag};
  std::vector<std::string> paths;
  std::istringstream list(FindValue(environment, "KUBECONFIG"));
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) paths.push_back(path);
  }
  const std::string home = FindValue(environment, "HOME");
  if (paths.empty() && !home.empty()) paths.push_back(home + "/.kube/config");
  return paths;
}

}  // namespace espalier::ctl::client
