#include "services/collective/in_process_collective.h"

#include <gtest/gtest.h>

#include "services/base/testing/soon.h"
#include "services/collective/testing/conformance.h"

namespace espalier::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(InProcess, CollectiveConformanceTest, testing::Values(GroupFactory(MakeInProcessGroup)));

TEST(InProcessCollectiveTest, AddsInRankOrder) {
  // In float, (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1: the result depends on the order.
  const float by_rank[] = {1e8f, -1e8f, 1.0f};
  auto ranks = MakeInProcessGroup(3);
  OnEveryRank(ranks, [&](Collective& collective) {
    float value = by_rank[collective.rank().value];
    ASSERT_TRUE(collective.AllReduceSum(std::span<float>(&value, 1), Soon()).ok());
    EXPECT_EQ(value, 1.0f);
  });
}

TEST(InProcessCollectiveTest, RefusesOperationsThatDoNotFit) {
  auto ranks = MakeInProcessGroup(2);
  OnEveryRank(ranks, [](Collective& collective) {
    std::vector<float> values(collective.rank().value + 1);
    const Status status = collective.AllReduceSum(std::span<float>(values), Soon());
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
    EXPECT_EQ(collective.Barrier(Soon()).code(), status.code()) << "dead";
  });
}

}  // namespace
}  // namespace espalier::collective
