// The connection of a pod to its API server. The address is in environment variables, the token and the CA certificate
// are in a folder that the kubelet mounts.
#pragma once

#include <map>
#include <string>

#include "operator/client/connection.h"

namespace espalier::ctl::client {

inline constexpr char kServiceAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

// Returns the connection with the pod's service account. Returns NotFound if the process does not run in a pod:
// KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the folder's files `token` and `ca.crt` are required.
Result<Connection> LoadInClusterConnection(const std::map<std::string, std::string>& environment,
                                           const std::string& folder = kServiceAccountFolder);

}  // namespace espalier::ctl::client
