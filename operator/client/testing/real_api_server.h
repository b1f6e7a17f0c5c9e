// A real API server for tests: etcd and kube-apiserver of ESPALIER_KUBE_TOOLS (e2e/tools/build.sh kube) on free ports
// of 127.0.0.1, with RBAC and own certificates. It starts in about 4 s. On request the controller manager, the
// scheduler and kwok, which simulates nodes, are started too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operator/client/connection.h"
#include "operator/client/testing/test_certificates.h"
#include "services/process/child_process.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::client {

struct RealApiServerOptions {
  // Controllers of kube-controller-manager ("garbage-collector-controller"; "*": all); empty: it is not started.
  std::vector<std::string> controllers;
  bool scheduler = false;
  std::string kwok_stages;         // file with Stages; empty: no kwok
  bool audit = false;              // write every request to audit_log()
  std::vector<std::string> flags;  // more flags of kube-apiserver
};

// The processes end when the object is destroyed, or when the thread that started them ends. Thread-compatible.
class RealApiServer {
 public:
  // Returns the folder of the programs: the environment variable ESPALIER_KUBE_TOOLS, or the value from the
  // configuration of the build, or "".
  static std::string Tools();
  // Starts the server and waits until it is ready.
  static Result<std::unique_ptr<RealApiServer>> Start(const RealApiServerOptions& options = {});
  ~RealApiServer();

  uint16_t port() const { return port_; }
  // Returns a connection with all permissions.
  Connection AdminConnection() const { return ConnectionOf("admin", {"system:masters"}); }
  // Returns a connection with a client certificate for the user and groups. A user named
  // "system:serviceaccount:<namespace>:<name>" has the permissions of that service account.
  Connection ConnectionOf(const std::string& user, const std::vector<std::string>& groups) const;
  // Returns the text of a kubeconfig file with such a connection and its certificates.
  std::string KubeConfigOf(const std::string& user, const std::vector<std::string>& groups) const;

  // Faults of kube-apiserver. Restart uses the same port and returns when the server is ready. While the server is
  // frozen, its connections stay open and silent.
  void Kill();
  Status Restart();
  void Freeze();
  void Thaw();
  // Makes etcd drop all versions but the newest. kube-apiserver keeps some in its cache until it is restarted.
  Status Compact();

  std::string audit_log() const;                        // path; a line of JSON for each stage of a request
  std::string LogOf(const std::string& program) const;  // output of the program so far, for example "kube-apiserver"
  const std::string& folder() const { return folder_.path(); }

 private:
  explicit RealApiServer(RealApiServerOptions options);
  Status StartOnce();
  Status StartApiServer();
  Status StartOthers();
  Result<process::ChildProcess> Run(const std::string& program, std::vector<std::string> flags) const;
  Status WriteFile(const std::string& name, const std::string& text) const;
  Status AwaitReady(const std::string& url, const std::string& program, process::ChildProcess& child) const;
  Result<std::string> AskEtcd(const std::string& call, const std::string& body) const;

  const RealApiServerOptions options_;
  storage::TemporaryFolder folder_;
  TestAuthority authority_{"espalier-test-ca"};
  uint16_t port_ = 0;
  std::string etcd_url_;
  std::unique_ptr<process::ChildProcess> etcd_, api_server_;
  std::vector<std::unique_ptr<process::ChildProcess>> others_;  // ended first
};

}  // namespace espalier::ctl::client
