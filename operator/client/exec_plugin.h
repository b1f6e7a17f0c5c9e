// Credentials from a program (client-go's exec plugins: aws eks get-token, gke-gcloud-auth-plugin, kubelogin).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operator/client/connection.h"
#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::client {

struct ExecPluginOptions {
  std::string api_version;  // "client.authentication.k8s.io/v1"
  std::string command;      // a path, or a name looked up in PATH
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // all that the program sees, besides KUBERNETES_EXEC_INFO
  std::string install_hint;                        // said where the program is not there
  kube::Json cluster;                              // spec.cluster of KUBERNETES_EXEC_INFO; null: not provided
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  // of one run, whoever waits for it and how long
};

using WallClock = std::function<kube::WallTime()>;

// Runs the program when first asked, 10 seconds before what it said expires, and after Reject: on a thread of its own,
// one run at a time, which no caller's deadline ends. What is still valid is in use meanwhile; callers wait only where
// nothing is. A run that fails is not repeated for 5 seconds. Errors are Unauthenticated (DeadlineExceeded where the
// caller's time was over) and name the command.
std::shared_ptr<CredentialsSource> ExecPlugin(ExecPluginOptions options, WallClock now = kube::SystemTime,
                                              Clock& clock = Clock::Real());

}  // namespace espalier::ctl::client
