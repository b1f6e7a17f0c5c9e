#include "services/base/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "services/base/philox.h"

namespace espalier {
namespace {

double SumOf(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.Add(value);
  return sum.Rounded();
}

TEST(ExactSumTest, IsExactWhereAdditionRounds) {
  EXPECT_EQ(SumOf({}), 0);
  EXPECT_EQ(SumOf({1e300, 1, -1e300}), 1);
  EXPECT_EQ(SumOf({0x1p53, 1, 1}), 0x1p53 + 2);
  EXPECT_EQ(SumOf({1e308, 1e308, -1e308}), 1e308);
  EXPECT_EQ(SumOf({-0x1p-1074, 0x1p-1074, 0x1p-1074}), 0x1p-1074);
  EXPECT_EQ(SumOf({1, -0x1p-1074}), 1);
  EXPECT_FALSE(std::signbit(SumOf({-1, 1})));
}

// Halfway cases and both sides of them, around 2^53 where the unit in the last place is 2.
TEST(ExactSumTest, RoundsToNearestTiesToEven) {
  EXPECT_EQ(SumOf({0x1p53, 1}), 0x1p53);
  EXPECT_EQ(SumOf({0x1p53, 3}), 0x1p53 + 4);
  EXPECT_EQ(SumOf({0x1p53, 1, 0x1p-500}), 0x1p53 + 2);
  EXPECT_EQ(SumOf({0x1p53, 1, -0x1p-500}), 0x1p53);
  EXPECT_EQ(SumOf({-0x1p53, -1, -0x1p-500}), -0x1p53 - 2);
}

TEST(ExactSumTest, EveryDoubleIsItsOwnSum) {
  PhiloxStream random(3, 1);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t bits = uint64_t{random.Next()} << 32 | random.Next();
    const double value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(SumOf({value}), value);
  }
  for (const double edge : {std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest(),
                            std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min()}) {
    EXPECT_EQ(SumOf({edge}), edge);
  }
}

TEST(ExactSumTest, SpecialValuesAreAsInIeee754) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(SumOf({1, infinity}), infinity);
  EXPECT_EQ(SumOf({-infinity, 1e300}), -infinity);
  EXPECT_TRUE(std::isnan(SumOf({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(SumOf({std::nan(""), infinity})));
  EXPECT_EQ(SumOf({1.7e308, 1.7e308}), infinity);
}

TEST(ExactSumTest, DoesNotDependOnOrderOrGrouping) {
  PhiloxStream random(4, 1);
  std::vector<double> values(3000);
  for (double& value : values) {
    value = (random.NextUnitDouble() - 0.5) * std::ldexp(1.0, static_cast<int>(random.NextBelow(200)) - 100);
  }
  const double expected = SumOf(values);
  // Compared with a sum that has 11 more bits of precision: close, not equal.
  long double reference = 0;
  for (const double value : values) reference += value;
  EXPECT_NEAR(expected, static_cast<double>(reference), std::fabs(expected) * 1e-12);

  for (const size_t parts : {2u, 3u, 7u}) {
    for (size_t i = values.size() - 1; i > 0; --i) {
      std::swap(values[i], values[random.NextBelow(static_cast<uint32_t>(i + 1))]);
    }
    std::vector<ExactSum> partial(parts);
    for (size_t i = 0; i < values.size(); ++i) partial[i % parts].Add(values[i]);
    ExactSum whole;
    for (const ExactSum& part : partial) whole.Add(ExactSum::FromWords(part.Words()));
    EXPECT_EQ(whole.Rounded(), expected);
  }
}

TEST(ExactSumTest, AcceptsAnySerializedWords) {
  PhiloxStream random(5, 1);
  for (int round = 0; round < 200; ++round) {
    std::array<int64_t, ExactSum::kWords> words{};
    for (int64_t& word : words) word = static_cast<int64_t>(uint64_t{random.Next()} << 32 | random.Next());
    ExactSum sum = ExactSum::FromWords(words);
    sum.Add(ExactSum::FromWords(words));
    sum.Add(1.0);
    (void)sum.Rounded();
  }
}

}  // namespace
}  // namespace espalier
