#include "services/base/failure_policy.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <vector>

namespace espalier {
namespace {

using std::chrono::milliseconds;

TEST(FailurePolicyTest, BadInputIsNeverRetriedAndStopIsNotCounted) {
  for (const int code : {64, 65}) EXPECT_EQ(RuleForEnd(code, 0).retry, Retry::kNever) << code;
  for (const int code : {0, 1, 2, 70, 74, 77, 127, 255}) EXPECT_EQ(RuleForEnd(code, 0).retry, Retry::kCounted) << code;
  EXPECT_EQ(RuleForEnd(75, 0).retry, Retry::kNotCounted);
  EXPECT_EQ(RuleForEnd(0, SIGKILL).retry, Retry::kCounted);
}

TEST(FailurePolicyTest, CausesRankAboveConsequences) {
  const std::vector<FailureRule> ascending = {RuleForEnd(74, 0), RuleForEnd(75, 0), RuleForEnd(0, 0),
                                              RuleForEnd(77, 0), RuleForEnd(70, 0), RuleForEnd(0, SIGSEGV),
                                              RuleForEnd(65, 0)};
  for (size_t i = 1; i < ascending.size(); ++i) EXPECT_LT(ascending[i - 1].rank, ascending[i].rank) << i;
  EXPECT_EQ(RuleForEnd(64, 0).rank, RuleForEnd(65, 0).rank);
  EXPECT_EQ(RuleForEnd(1, 0).rank, RuleForEnd(70, 0).rank);
  EXPECT_EQ(RuleForEnd(128 + SIGSEGV, 0).rank, RuleForEnd(0, SIGSEGV).rank);
}

TEST(FailurePolicyTest, TheDelayDoublesUpToTheLongest) {
  std::vector<int64_t> delays;
  for (const int64_t failures : {0, 1, 2, 3, 4, 1000}) {
    delays.push_back(DelayAfterFailures(failures, milliseconds(10), milliseconds(50)).count());
  }
  EXPECT_EQ(delays, (std::vector<int64_t>{10, 10, 20, 40, 50, 50}));
}

}  // namespace
}  // namespace espalier
