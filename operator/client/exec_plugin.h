// Credentials from exec plugins as in client-go: programs such as `aws eks get-token`, gke-gcloud-auth-plugin and
// kubelogin, which print credentials.
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
  std::string api_version;  // "client.authentication.k8s.io/v1" or "client.authentication.k8s.io/v1beta1"
  std::string command;      // a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // the whole environment, except KUBERNETES_EXEC_INFO
  std::string install_hint;                        // appended to the error if the program does not exist
  kube::Json cluster;                              // spec.cluster of KUBERNETES_EXEC_INFO; null: not provided
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  // of one run, independent of callers' deadlines
};

using WallClock = std::function<kube::WallTime()>;

// Returns a source that runs the program. The first Get starts a run; a later Get starts another if the credentials
// expire within 10 s or were rejected. (A Reject within 2 s after a successful run is ignored.) A thread of the source
// waits for the program, one run at a time, and a caller's deadline does not end the run. During a run, Get returns the
// earlier credentials while they are valid, and otherwise waits. After a failure the next run starts 5 s later at the
// earliest. Errors are Unauthenticated, or DeadlineExceeded at the caller's deadline, and name the command.
std::shared_ptr<CredentialsSource> MakeExecPluginSource(ExecPluginOptions options, WallClock now = kube::SystemTime,
                                                        Clock& clock = Clock::Real());

}  // namespace espalier::ctl::client
