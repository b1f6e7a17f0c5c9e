// What is said to an exec plugin and what it says (client.authentication.k8s.io, v1 and v1beta1). No I/O.
#pragma once

#include <optional>
#include <string>

#include "operator/client/connection.h"
#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::client {

bool IsExecApiVersion(std::string_view api_version);

// The value of KUBERNETES_EXEC_INFO; a null `cluster` is left out. Not interactive: the operator has no terminal.
std::string ExecInfo(const std::string& api_version, const kube::Json& cluster);

struct ExecCredential {
  Credentials credentials;
  std::optional<kube::WallTime> expires_at;
};

// YAML or JSON. InvalidArgument for another kind or apiVersion than was asked for, for a status without token and
// certificate, a certificate without key, a pair that does not match. Errors do not repeat what was printed.
Result<ExecCredential> ParseExecCredential(const std::string& output, const std::string& api_version);

}  // namespace espalier::ctl::client
