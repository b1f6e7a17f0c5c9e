#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/sampler/seeds/seed_order.h"
#include "services/sampler/testing/reference_neighbor_source.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;

graph::PartitionBook MakeBook(std::vector<uint64_t> node_first) {
  const size_t num_partitions = node_first.size() - 1;
  Result<graph::PartitionBook> book = graph::PartitionBook::Make(testing::HomogeneousSchema(), {std::move(node_first)},
                                                                 {std::vector<uint64_t>(num_partitions + 1, 0)});
  ESPALIER_CHECK(book.ok()) << book.status().ToString();
  return *std::move(book);
}

std::vector<uint64_t> ShareOfTrainer(const std::vector<uint64_t>& seeds, const graph::PartitionBook& book,
                                     uint32_t num_trainers, uint32_t rank) {
  GlobalBatch batch;
  for (const uint64_t seed : seeds) batch.seeds.push_back(GlobalNodeId(seed));
  std::vector<uint64_t> share;
  for (const GlobalNodeId node : ShareOfBatch(batch, book, NodeTypeId(0), num_trainers, Rank(rank))) {
    share.push_back(node.value);
  }
  return share;
}

// Partition 0 owns 0..9, partition 1 owns 10..19.
TEST(ShareOfBatchTest, PrefersTheTrainerOfThePartition) {
  const graph::PartitionBook book = MakeBook({0, 10, 20});
  EXPECT_THAT(ShareOfTrainer({12, 3, 15, 1}, book, 2, 0), ElementsAre(3, 1));
  EXPECT_THAT(ShareOfTrainer({12, 3, 15, 1}, book, 2, 1), ElementsAre(12, 15));
}

TEST(ShareOfBatchTest, FillsOtherSharesIfOneIsTooLarge) {
  const graph::PartitionBook book = MakeBook({0, 10, 20});
  // Of 5 seeds of partition 0, rank 0 has room for 3 and rank 1 for 2: the last ones go to rank 1.
  EXPECT_THAT(ShareOfTrainer({1, 2, 3, 4, 5}, book, 2, 0), ElementsAre(1, 2, 3));
  EXPECT_THAT(ShareOfTrainer({1, 2, 3, 4, 5}, book, 2, 1), ElementsAre(4, 5));
}

TEST(ShareOfBatchTest, SharesAreBalancedDisjointAndComplete) {
  const graph::PartitionBook book = MakeBook({0, 50, 60, 60, 100});
  std::vector<uint64_t> seeds;
  for (uint64_t i = 0; i < 37; ++i) seeds.push_back((i * 29) % 100);
  for (const uint32_t num_trainers : {1u, 2u, 3u, 7u, 40u}) {
    std::multiset<uint64_t> all;
    for (uint32_t rank = 0; rank < num_trainers; ++rank) {
      const std::vector<uint64_t> share = ShareOfTrainer(seeds, book, num_trainers, rank);
      EXPECT_EQ(share.size(), 37 / num_trainers + (rank < 37 % num_trainers ? 1 : 0));
      all.insert(share.begin(), share.end());
    }
    EXPECT_EQ(all, std::multiset<uint64_t>(seeds.begin(), seeds.end()));
  }
}

TEST(PositionsOfStepTest, CutsTheEpochIntoBatches) {
  EXPECT_EQ(PositionsOfStep(10, 4, 0).first, 0u);
  EXPECT_EQ(PositionsOfStep(10, 4, 2).first, 8u);
  EXPECT_EQ(PositionsOfStep(10, 4, 2).size(), 2u);
  EXPECT_EQ(PositionsOfStep(10, 4, 3).size(), 0u);
  EXPECT_EQ(PositionsOfStep(0, 4, 0).size(), 0u);
  EXPECT_EQ(PositionsOfStep(10, ~uint64_t{0}, 0).size(), 10u);
  EXPECT_EQ(PositionsOfStep(10, ~uint64_t{0}, ~0u).size(), 0u) << "the product overflows";
  EXPECT_EQ(StepsOfEpoch(10, 4), 3u);
  EXPECT_EQ(StepsOfEpoch(8, 4), 2u);
  EXPECT_EQ(StepsOfEpoch(0, 4), 0u);
}

TEST(SeedOrderTest, ShufflesByEpochInvertibly) {
  const SeedQuery query{.seed = 3, .epoch = 1};
  SeedQuery next_epoch = query, plain = query;
  next_epoch.epoch = 2;
  plain.shuffle = false;
  const SeedOrder order(query, 100), next(next_epoch, 100), unshuffled(plain, 100);
  std::set<uint64_t> seen;
  int same = 0;
  for (uint64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(order.Position(order.OrdinalAt(position)), position);
    EXPECT_EQ(unshuffled.OrdinalAt(position), position);
    seen.insert(order.OrdinalAt(position));
    same += order.OrdinalAt(position) == next.OrdinalAt(position) ? 1 : 0;
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_LT(same, 10);
}

}  // namespace
}  // namespace espalier::sampler
