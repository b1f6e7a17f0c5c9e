#include "services/sampler/draws/neighbor_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "services/sampler/draws/draw_words.h"
#include "services/sampler/testing/reference_neighbor_source.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;

std::vector<uint32_t> Words(uint64_t key, uint64_t id, uint32_t count) {
  std::vector<uint32_t> words(size_t{4} * NumDrawBlocks(count));
  FillDrawWords(key, std::span(&id, 1), NumDrawBlocks(count), words.data());
  return words;
}

std::vector<uint32_t> Without(uint64_t key, uint64_t id, uint32_t degree, uint32_t count) {
  DrawScratch scratch;
  std::vector<uint32_t> positions(count);
  DrawWithoutReplacement(Words(key, id, count).data(), degree, count, scratch, positions.data());
  return positions;
}

std::vector<uint32_t> With(uint64_t key, uint64_t id, uint32_t degree, uint32_t count) {
  std::vector<uint32_t> positions(count);
  DrawWithReplacement(Words(key, id, count).data(), degree, count, positions.data());
  return positions;
}

TEST(NumDrawnTest, CountsDrawnEdges) {
  EXPECT_EQ(NumDrawn(7, 3, false), 3u);
  EXPECT_EQ(NumDrawn(2, 3, false), 2u);
  EXPECT_EQ(NumDrawn(2, 3, true), 3u);
  EXPECT_EQ(NumDrawn(0, 3, true), 0u);
  EXPECT_EQ(NumDrawn(9, kFullNeighborhood, true), 9u);
  EXPECT_TRUE(DrawsAll(3, 3, false));
  EXPECT_FALSE(DrawsAll(3, 3, true));
  EXPECT_FALSE(DrawsAll(4, 3, false));
}

// Every variant of the kernel (registers for 8, 16 and 32 positions, and the table), drawing nearly all or few
// positions of the row.
TEST(DrawWithoutReplacementTest, AgreesWithThePlainAlgorithm) {
  for (const uint32_t count : {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 32u, 33u, 100u, 1000u}) {
    for (const uint32_t extra : {1u, 2u, 10u, 300u, 100'000u}) {
      for (uint64_t id = 0; id < 20; ++id) {
        const uint32_t degree = count + extra;
        EXPECT_EQ(Without(9, id, degree, count), testing::ReferencePositions(9, id, std::vector<uint32_t>(degree, 1),
                                                                             static_cast<int32_t>(count), false, false))
            << count << " of " << degree;
      }
    }
  }
}

TEST(DrawWithoutReplacementTest, GivesDistinctAscendingPositionsOfHugeRows) {
  const uint32_t degree = 4'000'000'000;
  const std::vector<uint32_t> positions = Without(1, 2, degree, 20);
  for (size_t i = 1; i < positions.size(); ++i) EXPECT_LT(positions[i - 1], positions[i]);
  EXPECT_LT(positions.back(), degree);
  EXPECT_GT(positions.back(), 1u << 31);
}

// 10 subsets of 2 out of 5: chi-square with 9 degrees of freedom, 27.9 is the 0.1 % point.
TEST(DrawWithoutReplacementTest, MakesEverySubsetEquallyLikely) {
  std::map<std::vector<uint32_t>, int> count;
  constexpr int kDraws = 20'000;
  for (uint64_t id = 0; id < kDraws; ++id) ++count[Without(3, id, 5, 2)];
  ASSERT_EQ(count.size(), 10u);
  double chi_square = 0;
  for (const auto& [subset, n] : count) chi_square += (n - 2000.0) * (n - 2000.0) / 2000.0;
  EXPECT_LT(chi_square, 27.9);
}

// 15 of 50, the usual case: chi-square of how often each position is drawn. Variances are smaller by the factor 1 -
// 15/50.
TEST(DrawWithoutReplacementTest, DrawsEveryPositionEquallyOften) {
  std::vector<int> count(50);
  constexpr int kDraws = 10'000;
  for (uint64_t id = 0; id < kDraws; ++id) {
    for (const uint32_t position : Without(4, id, 50, 15)) ++count[position];
  }
  double chi_square = 0;
  for (const int n : count) chi_square += (n - 3000.0) * (n - 3000.0) / 3000.0 / 0.7;
  EXPECT_LT(chi_square, 85.4);  // 49 degrees of freedom, 0.1 % point
}

TEST(DrawWithReplacementTest, AgreesWithThePlainAlgorithmAndRepeats) {
  bool repeats = false;
  for (uint64_t id = 0; id < 50; ++id) {
    const std::vector<uint32_t> positions = With(5, id, 6, 10);
    EXPECT_EQ(positions, testing::ReferencePositions(5, id, std::vector<uint32_t>(6, 1), 10, true, false));
    repeats = repeats || std::adjacent_find(positions.begin(), positions.end()) != positions.end();
  }
  EXPECT_TRUE(repeats);
  EXPECT_THAT(With(5, 0, 1, 3), ElementsAre(0, 0, 0));
}

TEST(DrawScratchTest, ClearResetsAndGrows) {
  DrawScratch scratch;
  scratch.Clear(1);
  EXPECT_TRUE(scratch.Insert(7));
  EXPECT_FALSE(scratch.Insert(7));
  scratch.Clear(1000);
  for (uint32_t value = 0; value < 1000; ++value) EXPECT_TRUE(scratch.Insert(value));
  EXPECT_FALSE(scratch.Insert(7));
  scratch.Clear(1);
  EXPECT_TRUE(scratch.Insert(7));
}

}  // namespace
}  // namespace espalier::sampler
