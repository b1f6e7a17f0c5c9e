// The API server as a pod sees it: address from the environment, token and authority from the mounted folder.
#pragma once

#include <map>
#include <string>

#include "operator/client/connection.h"

namespace espalier::ctl::client {

inline constexpr char kServiceAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

// NotFound where the process is in no pod: KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the folder's token are
// needed.
Result<Connection> InClusterConnection(const std::map<std::string, std::string>& environment,
                                       const std::string& folder = kServiceAccountFolder);

}  // namespace espalier::ctl::client
