#include "operator/client/token_bucket.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::client {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(TokenBucketTest, AllowsBurstThenRate) {
  FakeClock clock;
  TokenBucket bucket(/*qps=*/10, /*burst=*/3, clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(), nanoseconds(0));
  EXPECT_EQ(bucket.Take(), milliseconds(100));
  EXPECT_EQ(bucket.Take(), milliseconds(200)) << "the next token of the future";
}

TEST(TokenBucketTest, RefillsUpToBurst) {
  FakeClock clock;
  TokenBucket bucket(/*qps=*/10, /*burst=*/2, clock);
  bucket.Take();
  bucket.Take();
  clock.Advance(seconds(1000));
  EXPECT_EQ(bucket.Take(), nanoseconds(0));
  EXPECT_EQ(bucket.Take(), nanoseconds(0));
  EXPECT_EQ(bucket.Take(), milliseconds(100));
}

TEST(TokenBucketTest, RefusedCallerTakesNoToken) {
  FakeClock clock;
  TokenBucket bucket(/*qps=*/10, /*burst=*/1, clock);
  bucket.Take();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bucket.TakeWithin(milliseconds(99)), std::nullopt);
  EXPECT_EQ(bucket.TakeWithin(milliseconds(100)), milliseconds(100));
}

TEST(TokenBucketTest, NeverWaitsWithoutALimit) {
  FakeClock clock;
  TokenBucket bucket(/*qps=*/0, /*burst=*/0, clock);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.Take(), nanoseconds(0));
}

TEST(TokenBucketTest, WaitsAtMostAYear) {
  for (const double qps : {1e-12, 1e-300}) {
    FakeClock clock;
    TokenBucket bucket(qps, /*burst=*/1, clock);
    EXPECT_EQ(bucket.Take(), nanoseconds(0)) << qps;
    EXPECT_EQ(bucket.TakeWithin(hours(24)), std::nullopt) << qps;
    EXPECT_EQ(bucket.Take(), hours(24 * 365)) << qps;
  }
}

TEST(TokenBucketTest, HoldsItsRateOverALongTime) {
  FakeClock clock;
  TokenBucket bucket(/*qps=*/50, /*burst=*/100, clock);
  const SteadyTime start = clock.Now();
  for (int i = 0; i < 100 + 50 * 60; ++i) clock.Advance(bucket.Take());
  const auto elapsed = clock.Now() - start;
  EXPECT_GT(elapsed, seconds(60) - milliseconds(1));
  EXPECT_LT(elapsed, seconds(60) + milliseconds(1));
}

TEST(TokenBucketTest, GivesThreadsDistinctTokens) {
  FakeClock clock;
  TokenBucket bucket(/*qps=*/1, /*burst=*/1, clock);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&bucket] {
        for (int k = 0; k < 250; ++k) bucket.Take();
      });
    }
  }
  EXPECT_EQ(bucket.Take(), seconds(1000)) << "1000 were taken before it, 999 of them from the future";
}

}  // namespace
}  // namespace espalier::ctl::client
