// rest_client_requests_total{code,method} and rest_client_request_duration_seconds{verb}, as client-go names them.
#pragma once

#include <chrono>
#include <string>

#include "services/telemetry/metrics.h"

namespace espalier::ctl::client {

// Thread-safe.
struct ClientMetrics {
  explicit ClientMetrics(telemetry::MetricRegistry& r) : registry(r) {}
  // Every request sent, retries too. code 0: no answer ("<error>").
  void Count(const std::string& method, int code, std::chrono::nanoseconds duration);
  telemetry::MetricRegistry& registry;  // outlives this
};

}  // namespace espalier::ctl::client
