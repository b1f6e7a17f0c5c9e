// Metrics with the names of client-go: rest_client_requests_total{code,method} and
// rest_client_request_duration_seconds{verb}.
#pragma once

#include <chrono>
#include <string>

#include "services/telemetry/metrics.h"

namespace espalier::ctl::client {

// Thread-safe.
struct ClientMetrics {
  explicit ClientMetrics(telemetry::MetricRegistry& r) : registry(r) {}
  // Counts one request. ApiClient also calls this for each of its retries; retries of the transport are not counted.
  // `code` is the HTTP code; 0: no response (label "<error>").
  void Count(const std::string& method, int code, std::chrono::nanoseconds duration);
  telemetry::MetricRegistry& registry;  // must outlive this
};

}  // namespace espalier::ctl::client
