// Tests bias, ReLU and dropout in one pass: the kept elements, and gradients against the formula.
#include "services/kernels/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "services/kernels/dropout_half_words.h"
#include "services/kernels/row_ranges.h"

namespace espalier::kernels {
namespace {

constexpr int64_t kRowCount = 300, kRowWidth = 5;  // two chunks of rows
constexpr double kProbability = 0.25;

std::vector<int64_t> Ids(int64_t count, int64_t first) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

TEST(ActivationTest, ElementsAreDroppedByKeyIdAndColumn) {
  const std::vector<int64_t> first = Ids(100, 40), second = Ids(200, 1000);
  const std::vector<MaskRange> ranges{{0, 100, 7, first.data()}, {100, kRowCount, 8, second.data()}};
  std::vector<float> factors(kRowCount * kRowWidth, -1);
  DropoutFactors({kProbability, ranges}, kRowCount, kRowWidth, factors.data());
  const float kept = DropoutScale(kProbability);
  std::vector<uint16_t> words(kDropoutColumnsAtOnce);
  for (int64_t i = 0; i < kRowCount; ++i) {
    const bool in_first = i < 100;
    FillDropoutHalfWords(in_first ? 7 : 8, static_cast<uint64_t>(in_first ? first[i] : second[i - 100]), kRowWidth,
                         words.data());
    for (int64_t j = 0; j < kRowWidth; ++j) {
      EXPECT_EQ(factors[i * kRowWidth + j], words[j] >= DropThreshold(kProbability) ? kept : 0) << i << ", " << j;
    }
  }
}

TEST(ActivationTest, AddsBiasAndAppliesRelu) {
  const std::vector<float> bias{0, 1, -1, 2, 0};
  std::vector<float> x(kRowCount * kRowWidth);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  x[4] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> before = x;
  std::vector<uint8_t> passes(x.size(), 9);
  BiasReluDropoutRows({}, kRowCount, kRowWidth, bias.data(), x.data(), passes.data());
  EXPECT_TRUE(std::isnan(x[4]));  // a zero would hide it
  EXPECT_EQ(passes[4], 1);
  for (size_t i = 5; i < x.size(); ++i) {
    const float sum = before[i] + bias[i % kRowWidth];
    EXPECT_EQ(x[i], sum > 0 ? sum : 0) << i;
    EXPECT_EQ(passes[i], sum > 0 ? 1 : 0) << i;
  }
}

TEST(ActivationTest, GradientsPassKeptElements) {
  const std::vector<int64_t> ids = Ids(kRowCount, 3);
  const std::vector<MaskRange> ranges{{0, kRowCount, 5, ids.data()}};
  const std::vector<float> bias(kRowWidth, 0.5f);
  std::vector<float> x(kRowCount * kRowWidth, 1), gradient(x.size()), of_x(x.size(), -1);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i % 9);
  std::vector<uint8_t> passes(x.size());
  BiasReluDropoutRows({kProbability, ranges}, kRowCount, kRowWidth, bias.data(), x.data(), passes.data());
  ASSERT_EQ(NumChunks(kRowCount), 2);
  std::vector<float> by_chunk(2 * kRowWidth, -1);
  const float scale = DropoutScale(kProbability);
  BiasReluDropoutGradient(scale, kRowCount, kRowWidth, gradient.data(), passes.data(), of_x.data(), by_chunk.data());
  std::vector<double> sums(kRowWidth, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(of_x[i], x[i] == 0 ? 0 : scale * gradient[i]) << i;
    sums[i % kRowWidth] += of_x[i];
  }
  for (int64_t j = 0; j < kRowWidth; ++j) EXPECT_NEAR(by_chunk[j] + by_chunk[kRowWidth + j], sums[j], 1e-2);
}

}  // namespace
}  // namespace espalier::kernels
