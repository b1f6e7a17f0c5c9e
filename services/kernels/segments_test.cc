// Compares the kernels over segments with direct implementations of the formulas.
#include "services/kernels/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "services/base/philox.h"

namespace espalier::kernels {
namespace {

constexpr int64_t kWidth = 37;  // not a multiple of the vector length

// 700 destinations, of which every third has no in-edges; 900 sources.
struct RandomBlock {
  RandomBlock() {
    PhiloxStream random(1, 2);
    indptr.push_back(0);
    for (int destination = 0; destination < 700; ++destination) {
      const uint64_t degree = destination % 3 == 0 ? 0 : random.NextBelow(20);
      for (uint64_t e = 0; e < degree; ++e) indices.push_back(static_cast<uint32_t>(random.NextBelow(900)));
      indptr.push_back(static_cast<uint32_t>(indices.size()));
    }
    for (int64_t i = 0; i < 900 * kWidth; ++i) source.push_back(static_cast<float>(random.NextBelow(2001)) / 64 - 15);
  }
  Segments segments() const { return {indptr, indices}; }

  std::vector<uint32_t> indptr, indices;
  std::vector<float> source;  // [900, kWidth]
};

std::vector<float> Sums(const RandomBlock& block) {
  std::vector<float> out(700 * kWidth);
  SumSegments({.segments = block.segments(),
               .width = kWidth,
               .source = {block.source.data(), kWidth},
               .out = {out.data(), kWidth}});
  return out;
}

// Values are multiples of 1/64 below 2^16, so sums are exact in any order.
TEST(SegmentsTest, SumsInEdges) {
  const RandomBlock block;
  const std::vector<float> out = Sums(block);
  for (int64_t row = 0; row < 700; ++row) {
    for (int64_t j = 0; j < kWidth; ++j) {
      double expected = 0;
      for (uint32_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e) {
        expected += block.source[block.indices[e] * kWidth + j];
      }
      ASSERT_EQ(out[row * kWidth + j], expected) << row << ", " << j;
    }
  }
}

TEST(SegmentsTest, ScalesInitialRowsAndResults) {
  const std::vector<uint32_t> indptr{0, 2, 2}, indices{1, 2};
  const std::vector<float> source{10, 1, 2}, source_scale{1, 3, 5}, initial{4}, initial_scale{0.5}, result_scale{2, 7};
  std::vector<float> out(2, -1);
  SumSegments({.segments = {indptr, indices},
               .width = 1,
               .source = {source.data(), 1},
               .source_scale = source_scale.data(),
               .initial = {initial.data(), 1},
               .initial_scale = initial_scale.data(),
               .num_initial = 1,
               .result_scale = result_scale.data(),
               .out = {out.data(), 1}});
  EXPECT_EQ(out, (std::vector<float>{2 * (0.5f * 4 + 3 * 1 + 5 * 2), 0}));
}

TEST(SegmentsTest, TakesMaximaWithTheirPositions) {
  const RandomBlock block;
  std::vector<float> out(700 * kWidth);
  std::vector<uint32_t> winners(700 * kWidth);
  MaxSegments(block.segments(), kWidth, {block.source.data(), kWidth}, {out.data(), kWidth}, winners.data());
  for (int64_t row = 0; row < 700; ++row) {
    for (int64_t j = 0; j < kWidth; ++j) {
      float largest = -std::numeric_limits<float>::infinity();
      uint32_t winner = 0;
      for (uint32_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e) {
        const float value = block.source[block.indices[e] * kWidth + j];
        if (value > largest) largest = value, winner = e;
      }
      const bool is_alone = block.indptr[row] == block.indptr[row + 1];
      ASSERT_EQ(out[row * kWidth + j], is_alone ? 0 : largest);
      if (!is_alone) {
        ASSERT_EQ(winners[row * kWidth + j], winner);
      }
    }
  }
}

TEST(SegmentsTest, TransposesEdges) {
  const RandomBlock block;
  const TransposedSegments by_source = Transpose(block.segments(), 900, EdgePositions::kKeep);
  ASSERT_EQ(by_source.indptr.size(), 901u);
  ASSERT_EQ(by_source.positions.size(), block.indices.size());
  for (uint32_t s = 0; s < 900; ++s) {
    const auto first = by_source.positions.begin() + by_source.indptr[s];
    const auto last = by_source.positions.begin() + by_source.indptr[s + 1];
    EXPECT_TRUE(std::is_sorted(first, last));
    for (uint32_t k = by_source.indptr[s]; k < by_source.indptr[s + 1]; ++k) {
      const uint32_t e = by_source.positions[k], row = by_source.destinations[k];
      ASSERT_EQ(block.indices[e], s);
      ASSERT_LE(block.indptr[row], e);
      ASSERT_LT(e, block.indptr[row + 1]);
    }
  }
}

}  // namespace
}  // namespace espalier::kernels
