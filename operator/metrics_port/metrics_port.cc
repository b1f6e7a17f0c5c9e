#include "operator/metrics_port/metrics_port.h"

#include "operator/metrics_port/metrics_guard.h"
#include "services/telemetry/admin_server.h"

namespace espalier::ctl::metrics_port {
namespace {

// A scrape waits for at most two calls, a TokenReview and a SubjectAccessReview; Prometheus waits 10 s by default.
constexpr std::chrono::seconds kCallTimeout{3};
constexpr std::chrono::hours kOwnCertificateValidity{24 * 365 * 10};

// The client has no rate limit, because the guard limits the reviews.
client::ApiClientOptions MakeClientOptions() {
  client::ApiClientOptions options;
  options.qps = 0;
  options.call_timeout = kCallTimeout;
  return options;
}

Result<pki::KeyAndCertificate> MakeOwnCertificate() {
  ASSIGN_OR_RETURN(const pki::KeyAndCertificate authority,
                   pki::MakeCertificateAuthority("espalier-operator metrics", kOwnCertificateValidity));
  pki::LeafOptions leaf;
  leaf.identity = {{"espalier-operator", "metrics"}, pki::PeerRole::kOperator};
  leaf.dns_names = {"localhost"};
  leaf.valid_for = kOwnCertificateValidity;
  return pki::IssueLeaf(authority, leaf);
}

Result<std::unique_ptr<TlsChannels>> OpenChannels(const CertificateFiles& files) {
  if (!files.certificate.empty()) return TlsChannels::FromFiles(files);
  ASSIGN_OR_RETURN(const pki::KeyAndCertificate own, MakeOwnCertificate());
  return TlsChannels::FromPair(own);
}

}  // namespace

struct MetricsPort::Parts {
  Parts(client::HttpTransport& transport, telemetry::MetricRegistry& metrics, std::unique_ptr<TlsChannels> tls)
      : client_metrics(metrics), client(transport, MakeClientOptions(), client_metrics), channels(std::move(tls)) {}

  client::ClientMetrics client_metrics;
  client::ApiClient client;
  // `guard` and `channels` are used by the server's thread only.
  MetricsGuard guard{client};
  std::unique_ptr<TlsChannels> channels;
  std::unique_ptr<telemetry::AdminServer> server;
};

Result<std::unique_ptr<MetricsPort>> MetricsPort::Start(const MetricsPortOptions& options,
                                                        client::HttpTransport& transport,
                                                        telemetry::MetricRegistry& metrics) {
  ASSIGN_OR_RETURN(std::unique_ptr<TlsChannels> channels, OpenChannels(options.certificate));
  auto parts = std::make_unique<Parts>(transport, metrics, std::move(channels));
  telemetry::AdminServerOptions server;
  server.listen_address = options.listen_address;
  server.paths = telemetry::AdminPaths::kMetrics;
  server.open_channel = [parts = parts.get()](int descriptor) { return parts->channels->Open(descriptor); };
  server.guard = [parts = parts.get()](const telemetry::HttpRequest& request) {
    return parts->guard.CheckAccess(request);
  };
  ASSIGN_OR_RETURN(parts->server, telemetry::AdminServer::Start(server, metrics));
  return std::unique_ptr<MetricsPort>(new MetricsPort(std::move(parts)));
}

MetricsPort::MetricsPort(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

MetricsPort::~MetricsPort() {
  parts_->client.Stop();  // a review in progress would delay the end of the server's thread
}

const std::string& MetricsPort::address() const { return parts_->server->address(); }

}  // namespace espalier::ctl::metrics_port
