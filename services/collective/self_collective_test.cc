#include "services/collective/self_collective.h"

#include <gtest/gtest.h>

#include "services/base/testing/soon.h"
#include "services/collective/agreement.h"

namespace espalier::collective {
namespace {

TEST(SelfCollectiveTest, LeavesValuesAlone) {
  SelfCollective self;
  std::vector<float> values = {1, 2, 3};
  ASSERT_TRUE(self.AllReduceSum(std::span<float>(values), Soon()).ok());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  std::vector<std::byte> bytes = {std::byte{4}};
  ASSERT_TRUE(self.Broadcast(bytes, Rank(0), Soon()).ok());
  EXPECT_EQ(*self.AllGather(bytes, Soon()), bytes);
  EXPECT_TRUE(self.Barrier(Soon()).ok());
}

TEST(SelfCollectiveTest, AgreesWithItself) {
  SelfCollective self;
  EXPECT_TRUE(AgreeOn(Status(), self, std::chrono::seconds(60)).ok());
  EXPECT_EQ(AgreeOn(DataLoss("x"), self, std::chrono::seconds(60)), DataLoss("x"));
}

}  // namespace
}  // namespace espalier::collective
