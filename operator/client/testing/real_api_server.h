// The real thing for tests: etcd and kube-apiserver of ESPALIER_KUBE_TOOLS (e2e/tools/build.sh kube) on free ports of
// 127.0.0.1, with RBAC and certificates of their own, up in about 4 s; beside them, where asked for, the controller
// manager, the scheduler and kwok, which pretends nodes.
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
  // Of kube-controller-manager, by their names ("garbage-collector-controller"; "*": all); empty: it is not started.
  std::vector<std::string> controllers;
  bool scheduler = false;
  std::string kwok_stages;         // a file of Stages; empty: no kwok
  bool audit = false;              // every request, to audit_log()
  std::vector<std::string> flags;  // further ones of kube-apiserver
};

// Its processes end with this, and with the thread that started it. Owned by one thread.
class RealApiServer {
 public:
  // The folder of the programs: the environment variable ESPALIER_KUBE_TOOLS, or what the build was configured with; ""
  // without.
  static std::string Tools();
  // Ready when this returns.
  static Result<std::unique_ptr<RealApiServer>> Start(const RealApiServerOptions& options = {});
  ~RealApiServer();

  uint16_t port() const { return port_; }
  // Who may do everything.
  Connection AdminConnection() const { return ConnectionOf("admin", {"system:masters"}); }
  // Anybody, by a client certificate: RBAC knows "system:serviceaccount:<namespace>:<name>" as it does a pod's account.
  Connection ConnectionOf(const std::string& user, const std::vector<std::string>& groups) const;
  // The same as the text of a kubeconfig, certificates inside.
  std::string KubeConfigOf(const std::string& user, const std::vector<std::string>& groups) const;

  // kube-apiserver alone: killed as by a dying machine; started again on the same port, ready on return; frozen, with
  // its connections open and silent, and back.
  void Kill();
  Status Restart();
  void Freeze();
  void Thaw();
  // Makes etcd forget all but the newest versions. kube-apiserver remembers some until it is restarted.
  Status Compact();

  std::string audit_log() const;                        // path; a line of JSON for each stage of a request
  std::string LogOf(const std::string& program) const;  // "kube-apiserver": what it printed so far
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
  std::vector<std::unique_ptr<process::ChildProcess>> others_;  // end first
};

}  // namespace espalier::ctl::client
