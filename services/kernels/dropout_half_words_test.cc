// Compares the half-words with the scalar generator that specifies them.
#include "services/kernels/dropout_half_words.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/base/philox.h"

namespace espalier::kernels {
namespace {

TEST(DropoutHalfWordsTest, MatchPhilox) {
  for (const int64_t width : {1, 32, 33, 100}) {
    std::vector<uint16_t> halves((width + kDropoutColumnsAtOnce - 1) / kDropoutColumnsAtOnce * kDropoutColumnsAtOnce);
    for (const uint64_t node : {uint64_t{0}, uint64_t{7}, uint64_t{0xFEDCBA9876543210}}) {
      FillDropoutHalfWords(0x123456789ABCDEF, node, width, halves.data());
      for (int64_t column = 0; column < width; ++column) {
        const auto words = Philox4x32(0x123456789ABCDEF, static_cast<uint64_t>(column / 8), node);
        const uint32_t word = words[static_cast<size_t>(column % 8 / 2)];
        ASSERT_EQ(halves[column], column % 2 == 0 ? word & 0xFFFF : word >> 16) << node << ", " << column;
      }
    }
  }
}

TEST(DropoutHalfWordsTest, ThresholdAndScaleBelongTogether) {
  EXPECT_EQ(DropThreshold(0), 0);
  EXPECT_EQ(DropoutScale(0), 1);
  EXPECT_EQ(DropThreshold(0.5), 32768);
  EXPECT_EQ(DropoutScale(0.5), 2);
  EXPECT_EQ(DropThreshold(1), 65535);  // some elements are always kept
}

}  // namespace
}  // namespace espalier::kernels
