// The admin port of every process, HTTP/1.1, GET and HEAD only:
//   /metrics   Prometheus text
//   /livez     200 "ok" while the process answers, or 503 and what the liveness check says
//   /readyz    200 "ok", or 503 and why not
//   /readyz?wait  the same, but a process that has not been ready yet answers when it is, or after start_wait. For
//              startup probes: each answer but 200 is a Warning event of the kubelet
//   /status    JSON of the status provider
//
// Guarantees: one thread, a bounded number of connections and bytes each, and a deadline from a connection's first
// byte to its last, so that slow or half-open peers cost a slot for seconds and never the port: when all slots
// are taken the oldest connection is dropped. Up to eight requests for /readyz?wait keep their slots for start_wait.
// Caveats: no TLS and no authentication; bind to loopback, or let the network policy decide who may ask. Status
// providers and the liveness check run on the server's thread and must not block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "services/base/status.h"
#include "services/telemetry/metrics.h"

namespace espalier::telemetry {

struct AdminServerOptions {
  std::string listen_address = "127.0.0.1:0";  // host:port or [v6]:port; port 0 picks a free one
  std::chrono::milliseconds connection_deadline{5000};
  std::chrono::milliseconds start_wait{600'000};
  size_t max_request_bytes = 8192;
  size_t max_connections = 32;
};

// Thread-safe.
class AdminServer {
 public:
  // Listens and answers until destroyed. Not ready ("starting") at first. `registry` outlives the server; its own
  // metrics (espalier_admin_*) go there too. InvalidArgument for a bad address, Unavailable for a port taken.
  static Result<std::unique_ptr<AdminServer>> Start(const AdminServerOptions& options, MetricRegistry& registry);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // "127.0.0.1:41234": with the port that was picked.
  const std::string& address() const;

  void SetReady();
  void SetNotReady(const std::string& reason);
  // Says why the process should be restarted although it answers (a lease that is held and not renewed); "": it should
  // not. Unset, and nullptr: never. When this returns, the previous check is not running any more.
  void SetLivenessCheck(std::function<std::string()> check);
  // Returns the text of a JSON object. Until set, and after being set to nullptr, /status says {}. When this
  // returns, the previous provider is not running any more.
  void SetStatusProvider(std::function<std::string()> provider);

 private:
  class Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier::telemetry
