// The document is parsed to JSON first. The class Fields then reads typed values from one object and keeps the first
// error, so that each reader function checks the status only once, at its end.
#include "operator/client/kube_config_file.h"

#include <filesystem>

#include "operator/client/yaml_json.h"
#include "services/base/base64.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;

// Returns the path, resolved against the folder if it is relative. Symbolic links are not resolved, because they may be
// replaced later.
std::string ResolvePath(const std::string& path, const std::string& folder) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(folder) / path).string();
}

// Reads typed fields of one object. A field of a wrong type is read as empty; status() is the error of the first such
// field.
class Fields {
 public:
  Fields(const Json& object, std::string where, std::string folder)
      : object_(object), where_(std::move(where)), folder_(std::move(folder)) {
    if (!object.is_object() && !object.is_null()) Fail("", "is not an object");
  }

  const Status& status() const { return status_; }
  bool Has(std::string_view field) const { return Value(field) != nullptr; }

  std::string String(std::string_view field) {
    const Json* const value = Value(field);
    if (value == nullptr) return "";
    if (value->is_string()) return value->get_ref<const std::string&>();
    if (value->is_number_integer()) return kube::Print(*value);  // `token: 12345`
    Fail(field, "is not a string (write it in quotes)");
    return "";
  }
  std::string Path(std::string_view field) { return ResolvePath(String(field), folder_); }

  std::string Base64(std::string_view field) {
    const std::optional<std::string> bytes = DecodeBase64(String(field));
    if (!bytes.has_value()) Fail(field, "is not base64");
    return bytes.value_or("");
  }

  bool Bool(std::string_view field) {
    const Json* const value = Value(field);
    if (value == nullptr) return false;
    if (!value->is_boolean()) Fail(field, "is not true or false");
    return kube::BoolAt(object_, {field});
  }

  const Json& List(std::string_view field) {
    const Json* const value = Value(field);
    if (value != nullptr && !value->is_array()) Fail(field, "is not a list");
    return kube::ListAt(object_, {field});
  }

  // Returns a reader of the object in `field`. If the object is absent, all its fields are read as empty.
  Fields Object(std::string_view field) const {
    static const Json& none = *new Json();
    const Json* const value = Value(field);
    return Fields(value == nullptr ? none : *value, where_ + "." + std::string(field), folder_);
  }

  // Fail and KeepError do nothing after the first error.
  void Fail(std::string_view field, const std::string& reason) {
    if (!status_.ok()) return;
    status_ = InvalidArgument(where_ + (field.empty() ? "" : "." + std::string(field)) + " " + reason);
  }
  void KeepError(const Status& status) {
    if (status_.ok()) status_ = status;
  }

 private:
  const Json* Value(std::string_view field) const {
    const Json* const value = kube::Find(object_, {field});
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  const Json& object_;  // outlives this
  const std::string where_;
  const std::string folder_;
  Status status_;
};

Result<KubeCluster> ReadCluster(Fields fields) {
  KubeCluster cluster{.server = fields.String("server"),
                      .tls_server_name = fields.String("tls-server-name"),
                      .ca_file = fields.Path("certificate-authority"),
                      .ca_pem = fields.Base64("certificate-authority-data"),
                      .skip_verification = fields.Bool("insecure-skip-tls-verify"),
                      .proxy_url = fields.String("proxy-url")};
  for (const Json& extension : fields.List("extensions")) {
    if (kube::StringAt(extension, {"name"}) != "client.authentication.k8s.io/exec") continue;
    const Json* const config = kube::Find(extension, {"extension"});
    if (config != nullptr) cluster.exec_config = *config;
  }
  RETURN_IF_ERROR(fields.status());
  return cluster;
}

Result<KubeExec> ReadExec(Fields fields) {
  KubeExec exec{.api_version = fields.String("apiVersion"),
                .command = fields.String("command"),
                .install_hint = fields.String("installHint"),
                .provide_cluster_info = fields.Bool("provideClusterInfo"),
                .interactive_mode = fields.String("interactiveMode")};
  // A name without '/' stays unchanged, because it is looked up in PATH.
  if (exec.command.find('/') != std::string::npos) exec.command = fields.Path("command");
  for (const Json& argument : fields.List("args")) {
    if (!argument.is_string()) fields.Fail("args", "is not a list of strings");
    exec.arguments.push_back(kube::StringAt(argument, {}));
  }
  for (const Json& variable : fields.List("env")) {
    const std::string name = kube::StringAt(variable, {"name"});
    const Json* const value = kube::Find(variable, {"value"});
    const bool has_value = value != nullptr && value->is_string();
    if (name.empty() || name.find('=') != std::string::npos || !has_value) {
      fields.Fail("env", "is not a list of names and values");
    }
    exec.environment.emplace_back(name, kube::StringAt(variable, {"value"}));
  }
  RETURN_IF_ERROR(fields.status());
  return exec;
}

// Returns the first unsupported field of a user with the reason, or "". Ignoring such a field would send requests with
// another identity.
std::string FindUnsupportedField(const Fields& fields) {
  static constexpr std::pair<const char*, const char*> kFields[] = {
      {"auth-provider", "was removed in Kubernetes 1.26: use exec"},
      {"username", "is for basic authentication, which was removed in Kubernetes 1.19"},
      {"password", "is for basic authentication, which was removed in Kubernetes 1.19"},
      {"as-user-extra", "is not supported"}};
  for (const auto& [field, reason] : kFields) {
    if (fields.Has(field)) return std::string(field) + " " + reason;
  }
  return "";
}

Result<KubeUser> ReadUser(Fields fields) {
  KubeUser user{.token = telemetry::Secret(fields.String("token")),
                .token_file = fields.Path("tokenFile"),
                .certificate_file = fields.Path("client-certificate"),
                .certificate_pem = fields.Base64("client-certificate-data"),
                .key_file = fields.Path("client-key"),
                .key_pem = telemetry::Secret(fields.Base64("client-key-data")),
                .impersonate_user = fields.String("as"),
                .impersonate_uid = fields.String("as-uid"),
                .unsupported_field = FindUnsupportedField(fields)};
  for (const Json& group : fields.List("as-groups")) {
    if (!group.is_string()) fields.Fail("as-groups", "is not a list of strings");
    user.impersonate_groups.push_back(kube::StringAt(group, {}));
  }
  if (fields.Has("exec")) {
    Result<KubeExec> exec = ReadExec(fields.Object("exec"));
    fields.KeepError(exec.status());
    if (exec.ok()) user.exec = *std::move(exec);
  }
  RETURN_IF_ERROR(fields.status());
  return user;
}

Result<KubeContext> ReadContext(Fields fields) {
  KubeContext context{
      .cluster = fields.String("cluster"), .user = fields.String("user"), .name_space = fields.String("namespace")};
  RETURN_IF_ERROR(fields.status());
  return context;
}

// Reads a list of {"name": ..., `field`: {...}}.
template <class T>
Status ReadEntries(Fields& config, const std::string& list, const std::string& field, Result<T> (*read)(Fields),
                   const std::string& path, const std::string& folder, std::map<std::string, T>* entries) {
  int index = 0;
  for (const Json& item : config.List(list)) {
    const std::string position = list + "[" + std::to_string(index++) + "]";
    Fields entry(item, path + ": " + position, folder);
    const std::string name = entry.String("name");
    if (name.empty()) entry.Fail("name", "is missing");
    RETURN_IF_ERROR(entry.status());
    const Json* const body = kube::Find(item, {field});
    static const Json& none = *new Json();
    ASSIGN_OR_RETURN(T value,
                     read(Fields(body == nullptr ? none : *body, path + ": " + field + " '" + name + "'", folder)));
    if (!entries->emplace(name, std::move(value)).second) {
      return InvalidArgument(path + ": " + field + " '" + name + "' occurs twice");
    }
  }
  return config.status();
}

}  // namespace

Result<KubeConfigFile> ParseKubeConfigFile(const std::string& text, const std::string& path) {
  Result<Json> json = ParseYamlOrJson(text);
  if (!json.ok()) return std::move(json).status().While(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  Fields config(*json, path + ": the document", folder);
  const std::string kind = config.String("kind");
  const std::string api_version = config.String("apiVersion");
  KubeConfigFile file{.current_context = config.String("current-context")};
  RETURN_IF_ERROR(config.status());
  if ((!kind.empty() && kind != "Config") || (!api_version.empty() && api_version != "v1")) {
    return InvalidArgument(path + ": expected kind Config and apiVersion v1");
  }
  RETURN_IF_ERROR(ReadEntries(config, "clusters", "cluster", &ReadCluster, path, folder, &file.clusters));
  RETURN_IF_ERROR(ReadEntries(config, "users", "user", &ReadUser, path, folder, &file.users));
  RETURN_IF_ERROR(ReadEntries(config, "contexts", "context", &ReadContext, path, folder, &file.contexts));
  return file;
}

void MergeKubeConfig(KubeConfigFile later, KubeConfigFile* config) {
  if (config->current_context.empty()) config->current_context = std::move(later.current_context);
  config->clusters.merge(later.clusters);
  config->users.merge(later.users);
  config->contexts.merge(later.contexts);
}

}  // namespace espalier::ctl::client
