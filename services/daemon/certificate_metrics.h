// The metric with the expiry time of this process's certificate, read from its file at each scrape.
#pragma once

#include <memory>

#include "services/daemon/tls_flags.h"
#include "services/telemetry/metrics.h"

namespace espalier::daemon {

// Updates the gauge at each scrape as long as the returned object lives; the registry outlives it. Returns null without
// certificates. A file that cannot be read, for example during its renewal, leaves the value unchanged.
[[nodiscard]] std::shared_ptr<void> WatchCertificateExpiry(const TlsFlags& flags, telemetry::MetricRegistry& registry);

}  // namespace espalier::daemon
