#include "services/apps/transport/certificate_metrics.h"

#include <fstream>
#include <iterator>

#include "services/pki/certificate_details.h"

namespace espalier::transport {

std::shared_ptr<void> WatchCertificateExpiry(const TlsFlags& flags, telemetry::MetricRegistry& registry) {
  if (!flags.any()) return nullptr;
  return registry.BeforeSerialize([path = flags.certificate_file,
                                   expiry = registry.AddGauge("espalier_tls_certificate_expiry_timestamp_seconds",
                                                              "When this process's certificate runs out.")]() mutable {
    std::ifstream file(path);
    const std::string pem{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const Result<pki::CertificateDetails> details = pki::DetailsOf(pem);
    if (details.ok()) expiry.Set(static_cast<double>(details->expires_at.time_since_epoch().count()));
  });
}

}  // namespace espalier::transport
