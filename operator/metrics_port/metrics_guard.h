// Decides whether a request may get the metrics: its bearer token must be valid (TokenReview) and its user must have
// the permission `get` of the non-resource URL /metrics (SubjectAccessReview). This is the rule of controller-runtime's
// WithAuthenticationAndAuthorization and of kube-rbac-proxy.
#pragma once

#include <optional>
#include <string>

#include "operator/client/api_client.h"
#include "operator/client/token_bucket.h"
#include "operator/metrics_port/decision_cache.h"
#include "services/telemetry/http_request.h"

namespace espalier::ctl::metrics_port {

struct MetricsGuardOptions {
  DecisionCacheOptions cache;
  // The largest rate of token reviews, and the largest number of reviews at once after a pause. A request that needs a
  // review beyond this limit is refused with 429, so that invalid tokens neither delay other scrapers nor load the API
  // server.
  double reviews_per_second = 5;
  double review_burst = 20;
};

// Not thread-safe. The references must outlive it.
class MetricsGuard {
 public:
  explicit MetricsGuard(client::ApiClient& client, MetricsGuardOptions options = {}, Clock& clock = Clock::Real());

  // Returns nullopt if the request may get the metrics. Otherwise returns the response that refuses it: 401 without a
  // valid token, 403 without the permission, 429 beyond the limit of reviews, 503 if the API server returns an error,
  // which is also logged. Blocks for up to two calls of the client if no recent decision is cached. Errors are not
  // cached.
  std::optional<telemetry::HttpResponse> CheckAccess(const telemetry::HttpRequest& request);

 private:
  Result<Decision> Review(const std::string& token);

  client::ApiClient& client_;
  DecisionCache cache_;
  client::TokenBucket bucket_;
};

}  // namespace espalier::ctl::metrics_port
