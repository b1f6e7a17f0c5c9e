#include "services/graph/pair_set.h"

#include <gtest/gtest.h>

#include <set>

#include "services/base/philox.h"

namespace espalier::graph {
namespace {

using Pairs = std::vector<PairSet::Pair>;

TEST(PairSetTest, ContainsPairsInOneDirectionOnly) {
  const Pairs pairs = {{0, 0}, {1, 2}, {1, 2}, {2, uint64_t{1} << 40}};
  const PairSet set(pairs);
  for (const auto& [source, destination] : pairs) EXPECT_TRUE(set.Contains(source, destination));
  EXPECT_FALSE(set.Contains(2, 1));
  EXPECT_FALSE(set.Contains(1, 1));
  EXPECT_FALSE(set.Contains(2, 0));
}

TEST(PairSetTest, EmptySetContainsNothing) {
  const PairSet set({});
  EXPECT_FALSE(set.Contains(0, 0));
  EXPECT_FALSE(set.Contains(7, 9));
}

TEST(PairSetTest, MatchesSetForAllPairs) {
  constexpr uint32_t kNodes = 200;
  PhiloxStream random(/*key=*/1, /*stream=*/0);
  std::set<PairSet::Pair> expected;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t source = random.NextBelow(kNodes);
    expected.emplace(source, random.NextBelow(kNodes));
  }
  const Pairs pairs(expected.begin(), expected.end());
  const PairSet set(pairs);
  for (uint64_t source = 0; source < kNodes; ++source) {
    for (uint64_t destination = 0; destination < kNodes; ++destination) {
      ASSERT_EQ(set.Contains(source, destination), expected.contains({source, destination}));
    }
  }
}

}  // namespace
}  // namespace espalier::graph
