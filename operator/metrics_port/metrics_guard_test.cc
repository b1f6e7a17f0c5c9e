#include "operator/metrics_port/metrics_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/metrics_port/testing/fake_reviews.h"
#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::metrics_port {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MetricsGuardTest : public ::testing::Test {
 protected:
  MetricsGuardTest() {
    reviews_.AddToken("scraper-token", "system:serviceaccount:monitoring:prometheus");
    reviews_.Allow("system:serviceaccount:monitoring:prometheus");
    reviews_.AddToken("other-token", "system:serviceaccount:ml:default");
  }

  std::optional<telemetry::HttpResponse> Refuse(const std::string& authorization) {
    return guard_.CheckAccess({"GET", "/metrics", "", authorization});
  }
  int CodeFor(const std::string& authorization) {
    const std::optional<telemetry::HttpResponse> refusal = Refuse(authorization);
    return refusal ? refusal->status : 200;
  }

  FakeReviews reviews_;
  FakeClock clock_;
  telemetry::MetricRegistry registry_;
  client::ClientMetrics client_metrics_{registry_};
  client::ApiClient client_{reviews_, {.qps = 0}, client_metrics_, clock_};
  MetricsGuard guard_{client_, {}, clock_};
};

TEST_F(MetricsGuardTest, AllowsTokensWithPermission) {
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 200);
  EXPECT_EQ(reviews_.last_question(), kube::Json({{"user", "system:serviceaccount:monitoring:prometheus"},
                                                  {"uid", "uid-of-system:serviceaccount:monitoring:prometheus"},
                                                  {"groups", {"system:authenticated"}},
                                                  {"extra", {{"example.com/pod", {"prometheus-0"}}}},
                                                  {"nonResourceAttributes", {{"path", "/metrics"}, {"verb", "get"}}}}));
  EXPECT_EQ(CodeFor("bearer   scraper-token"), 200);  // the scheme has no case (RFC 9110, section 11.1)
}

TEST_F(MetricsGuardTest, RefusesAValidTokenWithoutThePermission) {
  const std::optional<telemetry::HttpResponse> refusal = Refuse("Bearer other-token");
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status, 403);
  EXPECT_EQ(refusal->body, "the token's user may not get the non-resource URL /metrics\n");
}

TEST_F(MetricsGuardTest, RefusesRequestsWithoutAValidToken) {
  const std::optional<telemetry::HttpResponse> invalid = Refuse("Bearer nonsense");
  ASSERT_TRUE(invalid.has_value());
  EXPECT_EQ(invalid->status, 401);
  EXPECT_EQ(invalid->challenge, "Bearer");
  EXPECT_EQ(invalid->body, "the token is not valid\n");
  EXPECT_EQ(reviews_.num_requests(), 1);

  for (const char* none : {"", "Bearer", "Bearer ", "Bearer    ", "Basic scraper-token", "scraper-token"}) {
    const std::optional<telemetry::HttpResponse> refusal = Refuse(none);
    ASSERT_TRUE(refusal.has_value()) << none;
    EXPECT_EQ(refusal->status, 401) << none;
    EXPECT_EQ(refusal->body, "the request has no bearer token\n") << none;
  }
  EXPECT_EQ(reviews_.num_requests(), 1);
}

TEST_F(MetricsGuardTest, ReviewsTokenAgainAfterMinute) {
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 200);
  clock_.Advance(std::chrono::seconds(59));
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 200);
  EXPECT_EQ(reviews_.num_requests(), 2);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 200);
  EXPECT_EQ(reviews_.num_requests(), 4);
}

TEST_F(MetricsGuardTest, APermissionGrantedLaterIsSeenAfterTenSeconds) {
  EXPECT_EQ(CodeFor("Bearer other-token"), 403);
  reviews_.Allow("system:serviceaccount:ml:default");
  EXPECT_EQ(CodeFor("Bearer other-token"), 403);
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(CodeFor("Bearer other-token"), 200);
}

TEST_F(MetricsGuardTest, RefusalWithoutApiServerIsNotCached) {
  reviews_.FailWith(DeadlineExceeded("no answer"));
  const std::optional<telemetry::HttpResponse> refusal = Refuse("Bearer scraper-token");
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status, 503);
  EXPECT_EQ(refusal->body, "the token cannot be reviewed: the operator's log has the reason\n");
  reviews_.FailWith(Status());
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 200);
}

TEST_F(MetricsGuardTest, DoesNotWriteTheTokenToTheLog) {
  reviews_.FailWith(Status(StatusCode::kPermissionDenied, "tokenreviews is forbidden"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 503);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("CREATE tokenreviews: tokenreviews is forbidden"));
  EXPECT_THAT(log, Not(HasSubstr("scraper-token")));
}

TEST_F(MetricsGuardTest, ManyInvalidTokensAreNotAllReviewed) {
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 200);
  int num_refused_at_once = 0;
  for (int i = 0; i < 100; ++i) num_refused_at_once += CodeFor("Bearer guess-" + std::to_string(i)) == 429 ? 1 : 0;
  EXPECT_EQ(num_refused_at_once, 81);  // of a burst of 20, one was the scraper's
  EXPECT_EQ(CodeFor("Bearer scraper-token"), 200);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(CodeFor("Bearer guess-99"), 401);
}

}  // namespace
}  // namespace espalier::ctl::metrics_port
