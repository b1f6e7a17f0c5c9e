// The admin port of every process, HTTP/1.1, GET and HEAD only:
//   /metrics   Prometheus text
//   /livez     200 "ok", or 503 and the reason given by the liveness check
//   /readyz    200 "ok", or 503 and the reason
//   /readyz?wait  like /readyz, but if the process has not been ready yet, the response follows when it becomes
//              ready or after start_wait. For startup probes, because the kubelet creates a Warning event for every
//              response other than 200
//   /status    JSON from the status provider
//
// Guarantees: the server uses one thread, limits the number of connections and the bytes of each request, and drops a
// connection whose request or response takes longer than connection_deadline. A slow or half-open peer therefore
// occupies a slot for seconds and never blocks the port: when all slots are in use, the oldest connection is dropped.
// At most eight requests for /readyz?wait are held open at a time; further requests for it get the response of /readyz.
// A connection with a held request is dropped to free a slot only if there are no other connections.
//
// Limitations: by default there is no TLS and no authentication. Bind to loopback or restrict access with a network
// policy; or serve /metrics on a separate server, with `open_channel` and `guard`. Status providers and the liveness
// check run on the server's thread and must not block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "services/base/status.h"
#include "services/telemetry/admin_channel.h"
#include "services/telemetry/http_request.h"
#include "services/telemetry/metrics.h"

namespace espalier::telemetry {

enum class AdminPaths {
  kAll,
  kAllButMetrics,
  kMetrics,  // only /metrics
};

struct AdminServerOptions {
  std::string listen_address = "127.0.0.1:0";           // host:port or [v6]:port; port 0 picks a free one
  std::chrono::milliseconds connection_deadline{5000};  // to receive a request, and again to send the response
  std::chrono::milliseconds start_wait{600'000};        // how long /readyz?wait waits at most
  size_t max_request_bytes = 8192;                      // of the request line and headers
  size_t max_connections = 32;
  AdminPaths paths = AdminPaths::kAll;
  ChannelFactory open_channel = MakePlainChannel;
  // Returns the response that refuses a request, or nullopt to serve the request. Null: every request is served. Runs
  // on the server's thread; while it blocks, the server serves no other request.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> guard = nullptr;
};

// Thread-safe.
class AdminServer {
 public:
  // Starts a server, which runs until it is destroyed. It is not ready ("starting") at first. `registry` must outlive
  // the server. Adds the metrics espalier_admin_* to `registry`; several servers share these metrics. InvalidArgument
  // for an invalid address; Unavailable for a port that is in use.
  static Result<std::unique_ptr<AdminServer>> Start(const AdminServerOptions& options, MetricRegistry& registry);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // Returns the address with the bound port: "127.0.0.1:41234".
  const std::string& address() const;

  void SetReady();
  // Makes /readyz return 503 and `reason`.
  void SetNotReady(const std::string& reason);
  // Sets a function that returns why the process should be restarted, such as a lease that is held but not renewed, or
  // "" if the process is alive. By default and with nullptr, /livez always returns "ok". Once SetLivenessCheck has
  // returned, the previous check does not run anymore.
  void SetLivenessCheck(std::function<std::string()> check);
  // Sets a function that returns the text of a JSON object for /status. By default and with nullptr, /status returns
  // {}. Once SetStatusProvider has returned, the previous provider does not run anymore.
  void SetStatusProvider(std::function<std::string()> provider);

 private:
  class Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier::telemetry
