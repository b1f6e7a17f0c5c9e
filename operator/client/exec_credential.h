// Input and output of exec plugins (client.authentication.k8s.io, v1 and v1beta1). No I/O.
#pragma once

#include <optional>
#include <string>

#include "operator/client/connection.h"
#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::client {

// Returns whether `api_version` is client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1.
bool IsExecApiVersion(std::string_view api_version);

// Returns the JSON for the environment variable KUBERNETES_EXEC_INFO. A null `cluster` is left out. `interactive` is
// false, because the operator has no terminal.
std::string MakeExecInfo(const std::string& api_version, const kube::Json& cluster);

struct ExecCredential {
  Credentials credentials;
  std::optional<kube::WallTime> expires_at;
};

// Parses a plugin's output, YAML or JSON. Returns InvalidArgument if the kind is not ExecCredential, if the apiVersion
// is not `api_version`, if the status has neither a token nor a certificate, if only one of certificate and key is
// there, or if the two do not match. Error messages do not contain the output.
Result<ExecCredential> ParseExecCredential(const std::string& output, const std::string& api_version);

}  // namespace espalier::ctl::client
