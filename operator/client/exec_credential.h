// Input and output of exec plugins (client.authentication.k8s.io, v1 and v1beta1). No I/O.
#pragma once

#include <optional>
#include <string>

#include "operator/client/connection.h"
#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::client {

// Returns true for the supported apiVersions.
bool IsExecApiVersion(std::string_view api_version);

// Returns the value of KUBERNETES_EXEC_INFO. A null `cluster` is left out. Not interactive: the operator has no
// terminal.
std::string ExecInfo(const std::string& api_version, const kube::Json& cluster);

struct ExecCredential {
  Credentials credentials;
  std::optional<kube::WallTime> expires_at;
};

// Parses a plugin's output, YAML or JSON. Returns InvalidArgument if kind or apiVersion differ from the expected ones,
// if the status has neither a token nor a certificate, or if certificate and key do not match or one is missing. Error
// messages do not contain the output.
Result<ExecCredential> ParseExecCredential(const std::string& output, const std::string& api_version);

}  // namespace espalier::ctl::client
