#include "operator/client/exec_credential.h"

#include "operator/client/bearer_token.h"
#include "operator/client/certificate_pair.h"
#include "operator/client/yaml_json.h"

namespace espalier::ctl::client {

using kube::Json;
using kube::StringAt;

bool IsExecApiVersion(std::string_view api_version) {
  return api_version == "client.authentication.k8s.io/v1" || api_version == "client.authentication.k8s.io/v1beta1";
}

std::string MakeExecInfo(const std::string& api_version, const Json& cluster) {
  Json spec = {{"interactive", false}};
  if (!cluster.is_null()) spec["cluster"] = cluster;
  return kube::Print({{"apiVersion", api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}});
}

Result<ExecCredential> ParseExecCredential(const std::string& output, const std::string& api_version) {
  ASSIGN_OR_RETURN(const Json json, ParseYamlOrJson(output).While("its output"));
  if (StringAt(json, {"kind"}) != "ExecCredential") return InvalidArgument("its output is not an ExecCredential");
  if (StringAt(json, {"apiVersion"}) != api_version) {
    return InvalidArgument("its output has another apiVersion than " + api_version);
  }
  const Json* const status = kube::Find(json, {"status"});
  if (status == nullptr || !status->is_object()) return InvalidArgument("its output has no status");

  ExecCredential result;
  Credentials& credentials = result.credentials;
  if (const std::string token = StringAt(*status, {"token"}); !token.empty()) {
    ASSIGN_OR_RETURN(credentials.bearer_token, ParseBearerToken(token).While("status.token"));
  }
  credentials.client_certificate_pem = StringAt(*status, {"clientCertificateData"});
  credentials.client_key_pem = telemetry::Secret(StringAt(*status, {"clientKeyData"}));
  const bool has_certificate = !credentials.client_certificate_pem.empty();
  if (has_certificate != !credentials.client_key_pem.empty()) {
    return InvalidArgument("status has only one of clientCertificateData and clientKeyData");
  }
  if (!has_certificate && credentials.bearer_token.empty()) {
    return InvalidArgument("status has neither a token nor a certificate");
  }
  if (has_certificate) {
    RETURN_IF_ERROR(CheckCertificatePair(credentials.client_certificate_pem, credentials.client_key_pem.Reveal())
                        .While("status.clientCertificateData and clientKeyData"));
  }
  if (const std::string expires_at = StringAt(*status, {"expirationTimestamp"}); !expires_at.empty()) {
    ASSIGN_OR_RETURN(result.expires_at, kube::ParseTime(expires_at).While("status.expirationTimestamp"));
  }
  return result;
}

}  // namespace espalier::ctl::client
