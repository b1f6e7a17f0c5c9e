#include "services/base/failpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

class FailpointTest : public ::testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(ArmFailpoints("").ok()); }
};

TEST_F(FailpointTest, IsOkIfUnset) { EXPECT_TRUE(Failpoint("x").ok()); }

TEST_F(FailpointTest, FailsEveryTimeWithGivenCode) {
  ASSERT_TRUE(ArmFailpoints("x=error:DATA_LOSS").ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Failpoint("x").code(), StatusCode::kDataLoss);
  EXPECT_TRUE(Failpoint("y").ok());
}

TEST_F(FailpointTest, FailsOnlyTheNthTime) {
  ASSERT_TRUE(ArmFailpoints("x=error:UNAVAILABLE@2").ok());
  EXPECT_TRUE(Failpoint("x").ok());
  EXPECT_EQ(Failpoint("x").code(), StatusCode::kUnavailable);
  EXPECT_TRUE(Failpoint("x").ok());
}

TEST_F(FailpointTest, FailsSameFractionOfHitsInEachRun) {
  const auto failures = [] {
    std::vector<bool> failed;
    EXPECT_TRUE(ArmFailpoints("x=error:UNAVAILABLE%30").ok());
    for (int i = 0; i < 1000; ++i) failed.push_back(!Failpoint("x").ok());
    return failed;
  };
  const std::vector<bool> first = failures();
  EXPECT_EQ(first, failures());
  const auto count = std::count(first.begin(), first.end(), true);
  EXPECT_GT(count, 230);
  EXPECT_LT(count, 370);
}

TEST_F(FailpointTest, DisarmsAgain) {
  ASSERT_TRUE(ArmFailpoints("x=error:UNAVAILABLE").ok());
  ASSERT_TRUE(ArmFailpoints("").ok());
  EXPECT_TRUE(Failpoint("x").ok());
}

TEST_F(FailpointTest, KillsTheProcess) {
  EXPECT_EXIT(
      {
        (void)ArmFailpoints("x=crash");
        (void)Failpoint("x");
      },
      ::testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FailpointTest, NamesInvalidEntry) {
  for (const char* text : {"x", "=crash", "x=explode", "x=delay:5", "x=error:BAD", "x=crash@", "x=crash%z"}) {
    const Status status = ArmFailpoints(std::string("good=crash@9;") + text);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), ::testing::HasSubstr(text));
  }
  EXPECT_TRUE(Failpoint("good").ok());
}

}  // namespace
}  // namespace espalier
