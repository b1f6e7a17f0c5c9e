// The operator's /metrics over HTTPS, for clients whose bearer token may get it, on a port of its own. Probes stay on
// the admin port, because the kubelet has no token (as in controller-runtime).
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
  // Empty: a certificate that the process makes itself, which clients cannot verify. The connection is then encrypted
  // without proof that the peer is the operator.
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
