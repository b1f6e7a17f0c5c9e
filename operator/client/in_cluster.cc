#include "operator/client/in_cluster.h"

#include "operator/client/certificate_pair.h"
#include "operator/client/server_url.h"
#include "services/base/environment.h"
#include "services/base/file.h"

namespace espalier::ctl::client {
namespace {

constexpr size_t kMaxAccountFileBytes = 1 << 20;

Result<std::string> RequireVariable(const std::map<std::string, std::string>& environment, const std::string& name) {
  std::string value = FindValue(environment, name);
  if (value.empty()) return NotFound("not in a pod: " + name + " is not set");
  return value;
}

// Removes the brackets of an IPv6 address. The kubelet sets KUBERNETES_SERVICE_HOST without brackets; a user may set it
// with them.
std::string RemoveBrackets(const std::string& host) {
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return has_brackets ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

Result<Connection> LoadInClusterConnection(const std::map<std::string, std::string>& environment,
                                           const std::string& folder) {
  Connection connection;
  ASSIGN_OR_RETURN(const std::string host, RequireVariable(environment, "KUBERNETES_SERVICE_HOST"));
  ASSIGN_OR_RETURN(const std::string port, RequireVariable(environment, "KUBERNETES_SERVICE_PORT"));
  connection.host = RemoveBrackets(host);
  ASSIGN_OR_RETURN(connection.port, ParsePort(port).While("KUBERNETES_SERVICE_PORT"));

  connection.credentials = MakeTokenFileSource(folder + "/token");
  RETURN_IF_ERROR(connection.credentials->Get(Deadline::After(std::chrono::seconds(1))).status());

  connection.ca_file = folder + "/ca.crt";
  ASSIGN_OR_RETURN(const std::string authorities,
                   ReadFile(connection.ca_file, kMaxAccountFileBytes, FileKinds::kRegular));
  RETURN_IF_ERROR(CheckAuthorities(authorities).While(connection.ca_file));

  // The namespace file is optional.
  const Result<std::string> name_space = ReadFile(folder + "/namespace", kMaxAccountFileBytes, FileKinds::kRegular);
  if (name_space.ok()) connection.name_space = name_space->substr(0, name_space->find_last_not_of(" \r\n\t") + 1);
  return connection;
}

}  // namespace espalier::ctl::client
