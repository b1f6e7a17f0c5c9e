#include "operator/metrics_port/decision_cache.h"

#include <gtest/gtest.h>

#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::metrics_port {
namespace {

using std::chrono::seconds;

TEST(DecisionCacheTest, KeepsPermissionsLongerThanRefusals) {
  FakeClock clock;
  DecisionCache cache({}, clock);
  cache.Keep("good", Decision::kAllowed);
  cache.Keep("other", Decision::kForbidden);
  cache.Keep("bad", Decision::kUnauthenticated);

  clock.Advance(seconds(9));
  EXPECT_EQ(cache.Find("good"), Decision::kAllowed);
  EXPECT_EQ(cache.Find("other"), Decision::kForbidden);
  EXPECT_EQ(cache.Find("bad"), Decision::kUnauthenticated);
  EXPECT_EQ(cache.Find("unknown"), std::nullopt);
  clock.Advance(seconds(1));
  EXPECT_EQ(cache.Find("other"), std::nullopt);
  EXPECT_EQ(cache.Find("bad"), std::nullopt);
  clock.Advance(seconds(49));
  EXPECT_EQ(cache.Find("good"), Decision::kAllowed);
  clock.Advance(seconds(1));
  EXPECT_EQ(cache.Find("good"), std::nullopt);
}

TEST(DecisionCacheTest, ALaterDecisionReplacesTheEarlierOne) {
  FakeClock clock;
  DecisionCache cache({}, clock);
  cache.Keep("token", Decision::kForbidden);
  cache.Keep("token", Decision::kAllowed);
  EXPECT_EQ(cache.Find("token"), Decision::kAllowed);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(DecisionCacheTest, ManyRefusedTokensDoNotDisplaceAnAllowedOne) {
  FakeClock clock;
  DecisionCache cache({.max_decisions = 3}, clock);
  cache.Keep("good", Decision::kAllowed);
  for (int i = 0; i < 100; ++i) cache.Keep("bad" + std::to_string(i), Decision::kUnauthenticated);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.Find("good"), Decision::kAllowed);
}

}  // namespace
}  // namespace espalier::ctl::metrics_port
