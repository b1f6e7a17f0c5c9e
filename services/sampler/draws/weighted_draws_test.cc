#include "services/sampler/draws/weighted_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "services/base/philox.h"
#include "services/sampler/draws/draw_words.h"
#include "services/sampler/testing/reference_neighbor_source.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<uint32_t> Quantize(std::vector<T> weights) {
  std::vector<uint32_t> sums(weights.size());
  const uint64_t size = weights.size();
  const Status status = QuantizeRow(Tensor::FromVector(std::move(weights)), 0, size, sums.data());
  EXPECT_TRUE(status.ok()) << status.ToString();
  return sums;
}

template <class T>
Status TryQuantize(std::vector<T> weights) {
  std::vector<uint32_t> sums(weights.size());
  const uint64_t size = weights.size();
  return QuantizeRow(Tensor::FromVector(std::move(weights)), 0, size, sums.data());
}

std::vector<uint32_t> DrawnWords(uint64_t key, uint64_t id, uint32_t count) {
  std::vector<uint32_t> words(size_t{4} * NumDrawBlocks(count));
  FillDrawWords(key, std::span(&id, 1), NumDrawBlocks(count), words.data());
  return words;
}

std::vector<uint32_t> Without(uint64_t key, uint64_t id, const std::vector<uint32_t>& sums, uint32_t count) {
  std::vector<uint32_t> positions(std::max<size_t>(count, sums.size()));
  positions.resize(
      DrawWeightedWithoutReplacement(key, id, DrawnWords(key, id, count).data(), sums, count, positions.data()));
  return positions;
}

TEST(QuantizeRowTest, KeepsSmallIntegers) {
  EXPECT_THAT(Quantize<int32_t>({3, 0, 4}), ElementsAre(3, 3, 7));
  EXPECT_THAT(Quantize<uint8_t>({255, 1}), ElementsAre(255, 256));
  EXPECT_THAT(Quantize<uint32_t>({4'294'967'295u}), ElementsAre(4'294'967'295u));
  EXPECT_THAT(Quantize<int64_t>({2'000'000'000, 2'000'000'000}), ElementsAre(2'000'000'000u, 4'000'000'000u));
}

TEST(QuantizeRowTest, QuantizesEachRowOnItsOwn) {
  const Tensor weights = Tensor::FromVector(std::vector<int32_t>{1, 2, 100, 200});
  std::vector<uint32_t> sums(4);
  ASSERT_TRUE(QuantizeRow(weights, 2, 4, sums.data()).ok());
  ASSERT_TRUE(QuantizeRow(weights, 0, 2, sums.data()).ok());
  EXPECT_THAT(sums, ElementsAre(1, 3, 100, 300));
}

TEST(QuantizeRowTest, KeepsTheProportionsOfFloatsAndHugeIntegers) {
  const auto expect_thirds = [](const std::vector<uint32_t>& sums) {
    ASSERT_EQ(sums.size(), 2u);
    EXPECT_GT(sums[1], 1u << 30);
    EXPECT_NEAR(static_cast<double>(sums[0]) / sums[1], 1.0 / 3, 1e-8);
  };
  expect_thirds(Quantize<float>({0.25f, 0.5f}));
  expect_thirds(Quantize<double>({1e-300, 2e-300}));
  expect_thirds(Quantize<double>({5e-324, 1e-323}));  // the smallest positive numbers of the type
  expect_thirds(Quantize<double>({0.8e308, 1.6e308}));
  expect_thirds(Quantize<uint64_t>({6'000'000'000'000'000'000u, 12'000'000'000'000'000'000u}));
}

TEST(QuantizeRowTest, KeepsPositiveWeightsPositiveAndSumsBelow32Bits) {
  std::vector<double> weights(1000, 1e-30);
  weights[500] = 1e30;
  const std::vector<uint32_t> sums = Quantize<double>(weights);
  for (size_t i = 1; i < sums.size(); ++i) EXPECT_GT(sums[i], sums[i - 1]) << "wrapped or left out at " << i;
  EXPECT_EQ(Quantize<float>(std::vector<float>(5000, 3.0f)).size(), 5000u);
  const std::vector<uint32_t> equal = Quantize<float>(std::vector<float>(5000, 3.0f));
  for (size_t i = 1; i < equal.size(); ++i) EXPECT_EQ(equal[i] - equal[i - 1], equal[0]);
}

TEST(QuantizeRowTest, NamesInvalidWeight) {
  EXPECT_EQ(TryQuantize<float>({1, -1}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(TryQuantize<float>({1, -1}).message(), HasSubstr("weight at position 1 is -1"));
  EXPECT_THAT(TryQuantize<double>({std::numeric_limits<double>::quiet_NaN()}).message(), HasSubstr("position 0"));
  EXPECT_THAT(TryQuantize<double>({1, std::numeric_limits<double>::infinity()}).message(), HasSubstr("position 1"));
  EXPECT_THAT(TryQuantize<int64_t>({4, 5, -6}).message(), HasSubstr("position 2 is -6"));
  EXPECT_TRUE(TryQuantize<float>({-0.0f, 0}).ok());
}

TEST(CheckWeightColumnTest, RefusesVectorsAndHalves) {
  EXPECT_TRUE(CheckWeightColumn(Tensor::Zeros(DType::kF32, {4})).ok());
  EXPECT_TRUE(CheckWeightColumn(Tensor::Zeros(DType::kBool, {4, 1})).ok());
  EXPECT_EQ(CheckWeightColumn(Tensor::Zeros(DType::kF32, {4, 2})).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckWeightColumn(Tensor::Zeros(DType::kF16, {4})).code(), StatusCode::kInvalidArgument);
}

TEST(WeightedDrawsTest, AgreeWithThePlainAlgorithm) {
  PhiloxStream random(1, 1);
  for (uint64_t id = 0; id < 400; ++id) {
    // Rows of all lengths, with zeros, with a few weights that dominate.
    std::vector<uint32_t> weights(1 + random.NextBelow(200));
    for (uint32_t& weight : weights) {
      weight = random.NextBelow(10) == 0 ? random.NextBelow(100'000) : random.NextBelow(5);
    }
    const std::vector<uint32_t> sums = Quantize(weights);
    for (const uint32_t count : {1u, 5u, 20u}) {
      const auto fanout = static_cast<int32_t>(count);
      EXPECT_EQ(Without(11, id, sums, count), testing::ReferencePositions(11, id, weights, fanout, false, true));
      if (sums.back() == 0) continue;
      std::vector<uint32_t> with(count);
      DrawWeightedWithReplacement(DrawnWords(11, id, count).data(), sums, count, with.data());
      EXPECT_EQ(with, testing::ReferencePositions(11, id, weights, fanout, true, true));
    }
  }
}

TEST(WeightedDrawsTest, NeverDrawAZeroWeight) {
  const std::vector<uint32_t> sums = Quantize<int32_t>({0, 2, 0, 0, 5, 0, 1, 0});
  for (uint64_t id = 0; id < 200; ++id) {
    for (const uint32_t position : Without(2, id, sums, 2))
      EXPECT_TRUE(position == 1 || position == 4 || position == 6);
  }
  EXPECT_THAT(Without(2, 0, sums, 5), ElementsAre(1, 4, 6)) << "fewer than asked for where fewer are positive";
  EXPECT_THAT(Without(2, 0, sums, 8), ElementsAre(1, 4, 6));
  EXPECT_THAT(Without(2, 0, Quantize<int32_t>({0, 0, 0}), 2), ElementsAre());
}

// Pairs drawn one after the other from weights 1, 2, 3, 4: P{a, b} = w_a / 10 * w_b / (10 - w_a) + the other order.
TEST(WeightedDrawsTest, WithoutReplacementIsSuccessiveDrawing) {
  const std::vector<double> w = {1, 2, 3, 4};
  const std::vector<uint32_t> sums = Quantize<int32_t>({1, 2, 3, 4});
  constexpr int kDraws = 40'000;
  std::map<std::vector<uint32_t>, int> count;
  for (uint64_t id = 0; id < kDraws; ++id) ++count[Without(7, id, sums, 2)];
  ASSERT_EQ(count.size(), 6u);
  double chi_square = 0;
  for (const auto& [pair, n] : count) {
    const double a = w[pair[0]], b = w[pair[1]];
    const double expected = kDraws * (a / 10 * b / (10 - a) + b / 10 * a / (10 - b));
    chi_square += (n - expected) * (n - expected) / expected;
  }
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, 0.1 % point
}

TEST(WeightedDrawsTest, WithReplacementFollowsTheWeights) {
  const std::vector<uint32_t> sums = Quantize<float>({0.5f, 1.5f, 0.0f, 6.0f});
  std::vector<int> count(4);
  constexpr int kDraws = 8000;
  for (uint64_t id = 0; id < kDraws; ++id) {
    std::vector<uint32_t> positions(2);
    DrawWeightedWithReplacement(DrawnWords(8, id, 2).data(), sums, 2, positions.data());
    for (const uint32_t position : positions) ++count[position];
  }
  EXPECT_EQ(count[2], 0);
  double chi_square = 0;
  for (const auto& [position, expected] : {std::pair{0, 1000.0}, {1, 3000.0}, {3, 12000.0}}) {
    const double difference = count[static_cast<size_t>(position)] - expected;
    chi_square += difference * difference / expected;
  }
  EXPECT_LT(chi_square, 13.8);  // 2 degrees of freedom, 0.1 % point
}

}  // namespace
}  // namespace espalier::sampler
