#include "services/daemon/certificate_metrics.h"

#include "services/base/file.h"
#include "services/pki/certificate_details.h"

namespace espalier::daemon {
namespace {

constexpr size_t kMaxCertificateBytes = 1 << 20;

}  // namespace

std::shared_ptr<void> WatchCertificateExpiry(const TlsFlags& flags, telemetry::MetricRegistry& registry) {
  if (!flags.any()) return nullptr;
  return registry.BeforeSerialize([path = flags.certificate_file,
                                   expiry = registry.AddGauge("espalier_tls_certificate_expiry_timestamp_seconds",
                                                              "Expiry time of this process's certificate.")]() mutable {
    const Result<std::string> pem = ReadFile(path, kMaxCertificateBytes);
    if (!pem.ok()) return;
    const Result<pki::CertificateDetails> details = pki::ParseDetails(*pem);
    if (details.ok()) expiry.Set(static_cast<double>(details->expires_at.time_since_epoch().count()));
  });
}

}  // namespace espalier::daemon
