#include "services/base/backoff.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kMaxRandom = ~0u;

TEST(DelayBeforeTest, DoublesUpToTheLimit) {
  const RetryPolicy policy{.max_attempts = 9, .initial_delay = milliseconds(100), .max_delay = milliseconds(1000)};
  EXPECT_EQ(DelayBefore(1, policy, kMaxRandom), milliseconds(100));
  EXPECT_EQ(DelayBefore(2, policy, kMaxRandom), milliseconds(200));
  EXPECT_EQ(DelayBefore(4, policy, kMaxRandom), milliseconds(800));
  EXPECT_EQ(DelayBefore(5, policy, kMaxRandom), milliseconds(1000));
  EXPECT_EQ(DelayBefore(400, policy, kMaxRandom), milliseconds(1000));
}

TEST(DelayBeforeTest, JitterNeverGoesBelowHalf) {
  const RetryPolicy policy{.initial_delay = milliseconds(100)};
  EXPECT_EQ(DelayBefore(1, policy, 0), milliseconds(50));
}

}  // namespace
}  // namespace espalier
