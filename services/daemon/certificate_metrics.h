// When this process's certificate runs out, as its file says at each scrape.
#pragma once

#include <memory>

#include "services/daemon/tls_flags.h"
#include "services/telemetry/metrics.h"

namespace espalier::daemon {

// As long as what is returned lives; the registry outlives it. Null without certificates. A file that cannot be read,
// in the middle of its renewal for one, leaves the value as it was.
[[nodiscard]] std::shared_ptr<void> WatchCertificateExpiry(const TlsFlags& flags, telemetry::MetricRegistry& registry);

}  // namespace espalier::daemon
