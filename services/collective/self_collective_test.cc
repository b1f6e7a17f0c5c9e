#include "services/collective/self_collective.h"

#include <gtest/gtest.h>

#include "services/base/testing/soon.h"
#include "services/collective/agreement.h"

namespace espalier::collective {
namespace {

TEST(SelfCollectiveTest, KeepsValues) {
  SelfCollective self;
  std::vector<float> values = {1, 2, 3};
  ASSERT_TRUE(self.AllReduceSum(std::span<float>(values), Soon()).ok());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  std::vector<std::byte> bytes = {std::byte{4}};
  ASSERT_TRUE(self.Broadcast(bytes, Rank(0), Soon()).ok());
  EXPECT_EQ(*self.AllGather(bytes, Soon()), bytes);
  EXPECT_TRUE(self.Barrier(Soon()).ok());
}

TEST(SelfCollectiveTest, PollsUntilItIsDone) {
  SelfCollective self;
  int polls = 0;
  EXPECT_TRUE(self.PollUntilAllDone([&]() -> Result<bool> { return ++polls == 3; }, Soon()).ok());
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(self.PollUntilAllDone([]() -> Result<bool> { return DataLoss("x"); }, Soon()), DataLoss("x"));
  const auto never = []() -> Result<bool> { return false; };
  EXPECT_EQ(self.PollUntilAllDone(never, Deadline::After(std::chrono::milliseconds(5))),
            DeadlineExceeded("the awaited operation did not end before the deadline"));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(self.PollUntilAllDone(never, Soon().OrStop(stop.get_token())).code(), StatusCode::kCancelled);
}

TEST(SelfCollectiveTest, OperationsFailAfterAbandon) {
  SelfCollective self;
  self.Abandon();
  EXPECT_EQ(self.Barrier(Deadline::Never()).code(), StatusCode::kUnavailable);
  EXPECT_EQ(self.PollUntilAllDone([] { return false; }, Deadline::Never()).code(), StatusCode::kUnavailable);
}

TEST(SelfCollectiveTest, AgreesWithItself) {
  SelfCollective self;
  EXPECT_TRUE(AgreeOn(Status(), self, std::chrono::seconds(60)).ok());
  EXPECT_EQ(AgreeOn(DataLoss("x"), self, std::chrono::seconds(60)), DataLoss("x"));
}

}  // namespace
}  // namespace espalier::collective
