// Serves the operator's /metrics over HTTPS on a separate port, for clients whose bearer token has the permission to
// get it. Probes stay on the admin port, because the kubelet has no token; controller-runtime separates the ports in
// the same way.
//
//   connection ─► TLS (tls_channel) ─► token, permission (metrics_guard) ─► /metrics (telemetry::AdminServer)
#pragma once

#include <memory>
#include <string>

#include "operator/client/api_client.h"
#include "operator/metrics_port/tls_channel.h"
#include "services/telemetry/metrics.h"

namespace espalier::ctl::metrics_port {

struct MetricsPortOptions {
  std::string listen_address = "127.0.0.1:0";  // host:port; port 0 picks a free one
  // Empty: the process makes a certificate, which clients cannot verify: the connection is then encrypted, but without
  // proof that the server is the operator.
  CertificateFiles certificate;
};

// Serves from its own thread until it is destroyed. The references must outlive it.
class MetricsPort {
 public:
  // Errors: those of TlsChannels::FromFiles and of telemetry::AdminServer::Start.
  static Result<std::unique_ptr<MetricsPort>> Start(const MetricsPortOptions& options, client::HttpTransport& transport,
                                                    telemetry::MetricRegistry& metrics);
  ~MetricsPort();
  MetricsPort(const MetricsPort&) = delete;
  MetricsPort& operator=(const MetricsPort&) = delete;

  const std::string& address() const;  // with the bound port

 private:
  struct Parts;
  explicit MetricsPort(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace espalier::ctl::metrics_port
