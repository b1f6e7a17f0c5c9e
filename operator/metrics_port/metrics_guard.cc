#include "operator/metrics_port/metrics_guard.h"

#include <algorithm>
#include <cctype>

#include "operator/kube/json.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::metrics_port {
namespace {

using kube::Json;
using telemetry::HttpResponse;

constexpr std::string_view kScheme = "bearer ";
constexpr char kMetricsPath[] = "/metrics";

// Returns the token of an Authorization header, or "" if it has another scheme.
std::string ParseBearerToken(std::string_view authorization) {
  const bool is_bearer = authorization.size() > kScheme.size() &&
                         std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                                    [](char expected, unsigned char found) { return expected == std::tolower(found); });
  if (!is_bearer) return "";
  authorization.remove_prefix(kScheme.size());
  const size_t begin = authorization.find_first_not_of(' ');
  return begin == std::string_view::npos ? "" : std::string(authorization.substr(begin));
}

std::optional<HttpResponse> ToRefusal(Decision decision) {
  switch (decision) {
    case Decision::kAllowed: return std::nullopt;
    case Decision::kForbidden:
      return HttpResponse{.status = 403, .body = "the token's user may not get the non-resource URL /metrics\n"};
    case Decision::kUnauthenticated:
      return HttpResponse{.status = 401, .body = "the token is not valid\n", .challenge = "Bearer"};
  }
  ESPALIER_CHECK(false) << "decision " << static_cast<int>(decision);
}

// Returns the SubjectAccessReview that asks whether a user may get the metrics. `user` comes from a TokenReview's
// status.
Json MakeAccessReview(const Json& user) {
  Json spec = {{"nonResourceAttributes", {{"path", kMetricsPath}, {"verb", "get"}}}};
  spec["user"] = kube::StringAt(user, {"username"});
  for (const char* key : {"uid", "groups", "extra"}) {
    if (const Json* value = kube::Find(user, {key})) spec[key] = *value;
  }
  return {{"apiVersion", kube::kSubjectAccessReviews.api_version()},
          {"kind", kube::kSubjectAccessReviews.kind},
          {"spec", std::move(spec)}};
}

}  // namespace

MetricsGuard::MetricsGuard(client::ApiClient& client, MetricsGuardOptions options, Clock& clock)
    : client_(client), cache_(options.cache, clock), bucket_(options.reviews_per_second, options.review_burst, clock) {}

std::optional<HttpResponse> MetricsGuard::CheckAccess(const telemetry::HttpRequest& request) {
  const std::string token = ParseBearerToken(request.authorization);
  if (token.empty()) {
    return HttpResponse{.status = 401, .body = "the request has no bearer token\n", .challenge = "Bearer"};
  }
  if (const std::optional<Decision> known = cache_.Find(token)) return ToRefusal(*known);
  if (!bucket_.TakeWithin(std::chrono::nanoseconds(0))) {
    return HttpResponse{.status = 429, .body = "too many different tokens: try again in a second\n"};
  }
  const Result<Decision> decision = Review(token);
  if (!decision.ok()) {
    telemetry::Log(telemetry::Level::kWarning, "cannot review the token of a request for metrics",
                   {{"error", decision.status()}});
    return HttpResponse{.status = 503, .body = "the token cannot be reviewed: the operator's log has the reason\n"};
  }
  cache_.Keep(token, *decision);
  return ToRefusal(*decision);
}

Result<Decision> MetricsGuard::Review(const std::string& token) {
  ASSIGN_OR_RETURN(const Json identity,
                   client_.Review(kube::kTokenReviews, {{"apiVersion", kube::kTokenReviews.api_version()},
                                                        {"kind", kube::kTokenReviews.kind},
                                                        {"spec", {{"token", token}}}}));
  if (!kube::BoolAt(identity, {"status", "authenticated"})) return Decision::kUnauthenticated;
  const Json* const user = kube::Find(identity, {"status", "user"});
  if (user == nullptr || kube::StringAt(*user, {"username"}).empty()) {
    return Internal("the TokenReview of a valid token has no status.user.username");
  }
  ASSIGN_OR_RETURN(const Json access, client_.Review(kube::kSubjectAccessReviews, MakeAccessReview(*user)));
  const bool is_allowed = kube::BoolAt(access, {"status", "allowed"}) && !kube::BoolAt(access, {"status", "denied"});
  return is_allowed ? Decision::kAllowed : Decision::kForbidden;
}

}  // namespace espalier::ctl::metrics_port
