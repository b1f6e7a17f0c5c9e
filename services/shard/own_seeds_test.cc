#include "services/shard/own_seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::shard {
namespace {

using ::testing::IsEmpty;

// Three edge types with 400, 0 and 250 edges. This partition owns about a third of the edges.
constexpr uint64_t kFirst[] = {0, 400, 400};
constexpr uint64_t kTotal = 650;

class OwnSeedsTest : public ::testing::TestWithParam<bool> {
 protected:
  OwnSeedsTest() {
    std::vector<uint64_t> of_first, of_last;
    for (uint64_t i = 0; i < 400; i += 1 + i % 4) of_first.push_back(i);
    for (uint64_t i = 3; i < 250; i += 2) of_last.push_back(i);
    ordinals_ = {Tensor::FromVector(of_first), Tensor::Zeros(DType::kU64, {0}), Tensor::FromVector(of_last)};
    for (size_t list = 0; list < 3; ++list) lists_.push_back({kFirst[list], &ordinals_[list]});
    query_.shuffle = GetParam();
    query_.seed = 5;
    query_.epoch = 3;
  }

  // Computes the seeds from the order of the whole epoch.
  std::vector<OwnSeed> ByHand(sampler::PositionRange range) const {
    const sampler::SeedOrder order(query_, kTotal);
    std::vector<OwnSeed> seeds;
    for (uint64_t position = range.first; position < range.last; ++position) {
      for (uint32_t list = 0; list < 3; ++list) {
        const auto ordinals = ordinals_[list].values<uint64_t>();
        for (uint64_t entry = 0; entry < ordinals.size(); ++entry) {
          if (kFirst[list] + ordinals[entry] == order.OrdinalAt(position)) seeds.push_back({position, list, entry});
        }
      }
    }
    return seeds;
  }

  sampler::SeedQuery query_;
  std::vector<Tensor> ordinals_;
  std::vector<OrdinalList> lists_;
};

TEST_P(OwnSeedsTest, MatchWholeOrderForAnyBatchSize) {
  for (const uint64_t batch_size : {uint64_t{1}, uint64_t{7}, uint64_t{100}, kTotal, 2 * kTotal}) {
    size_t num_seeds = 0;
    for (uint32_t step = 0; step * batch_size < kTotal; ++step) {
      const sampler::PositionRange range = sampler::PositionsOfStep(kTotal, batch_size, step);
      const std::vector<OwnSeed> seeds = FindOwnSeeds(query_, kTotal, lists_, range);
      EXPECT_EQ(seeds, ByHand(range)) << batch_size << ", step " << step;
      num_seeds += seeds.size();
    }
    EXPECT_EQ(num_seeds, static_cast<size_t>(ordinals_[0].num_rows() + ordinals_[2].num_rows())) << batch_size;
  }
}

TEST_P(OwnSeedsTest, APartitionWithoutSeedsHasNone) {
  const OrdinalList list{0, &ordinals_[1]};
  EXPECT_THAT(FindOwnSeeds(query_, 100, std::span(&list, 1), {0, 100}), IsEmpty());
  EXPECT_THAT(FindOwnSeeds(query_, 0, std::span(&list, 1), {0, 0}), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(OwnSeedsTest, OwnSeedsTest, ::testing::Bool(),
                         [](const auto& shuffled) { return shuffled.param ? "Shuffled" : "InOrder"; });

}  // namespace
}  // namespace espalier::shard
