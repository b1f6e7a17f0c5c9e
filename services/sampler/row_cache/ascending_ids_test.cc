#include "services/sampler/row_cache/ascending_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "services/base/philox.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint64_t> RandomIds(PhiloxStream& random, uint64_t most, uint64_t below) {
  std::set<uint64_t> ids;
  for (uint64_t i = random.NextBelow(most + 1); i > 0; --i) ids.insert(random.NextBelow(below));
  return {ids.begin(), ids.end()};
}

std::vector<size_t> Common(const AscendingIds& set, const std::vector<uint64_t>& ids) {
  std::vector<size_t> positions;
  set.Intersect(ids, [&](size_t i) { positions.push_back(i); });
  return positions;
}

TEST(AscendingIdsTest, HoldsIdsOfEverySize) {
  std::vector<uint64_t> ids = {0};
  for (int bits = 0; bits < 64; ++bits) ids.push_back(uint64_t{1} << bits);
  ids.push_back(std::numeric_limits<uint64_t>::max());
  const AscendingIds set(ids);
  EXPECT_EQ(set.size(), ids.size());
  EXPECT_EQ(set.ToVector(), ids);
  EXPECT_EQ(Common(set, ids).size(), ids.size());
}

TEST(AscendingIdsTest, MayBeEmpty) {
  EXPECT_THAT(AscendingIds().ToVector(), IsEmpty());
  EXPECT_THAT(Common(AscendingIds(), {1, 2}), IsEmpty());
  EXPECT_THAT(Common(AscendingIds(std::vector<uint64_t>{1, 2}), {}), IsEmpty());
}

TEST(AscendingIdsTest, FindsCommonIds) {
  const AscendingIds set(std::vector<uint64_t>{3, 5, 700, 100'000});
  EXPECT_THAT(Common(set, {1, 3, 4, 700, 100'001}), ElementsAre(1, 3));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    PhiloxStream random(seed, 0);
    const uint64_t below = 1 + random.NextBelow(1000);
    const std::vector<uint64_t> a = RandomIds(random, 100, below);
    const std::vector<uint64_t> b = RandomIds(random, 100, below);
    std::vector<size_t> expected;
    for (size_t i = 0; i < b.size(); ++i) {
      if (std::binary_search(a.begin(), a.end(), b[i])) expected.push_back(i);
    }
    EXPECT_EQ(Common(AscendingIds(a), b), expected) << "seed " << seed;
  }
}

TEST(AscendingIdsTest, UsesOneByteForNearbyIds) {
  std::vector<uint64_t> ids;
  for (uint64_t id = 1'000'000; ids.size() < 1000; id += 100) ids.push_back(id);
  EXPECT_EQ(AscendingIds(ids).SizeInBytes(), 1002u);
}

}  // namespace
}  // namespace espalier::sampler
