// The metric with the expiry time of this process's certificate, read from its file at each scrape.
#pragma once

#include <memory>

#include "services/daemon/tls_flags.h"
#include "services/telemetry/metrics.h"

namespace espalier::daemon {

// Adds the gauge espalier_tls_certificate_expiry_timestamp_seconds and updates it at each scrape as long as the
// returned object lives; `registry` must outlive that object. Returns null if no --tls flag is given. A file that
// cannot be read, for example during its renewal, leaves the value unchanged.
[[nodiscard]] std::shared_ptr<void> WatchCertificateExpiry(const TlsFlags& flags, telemetry::MetricRegistry& registry);

}  // namespace espalier::daemon
