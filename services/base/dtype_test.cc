#include "services/base/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace espalier {
namespace {

// The nearest binary16 by search over all of them, ties to the even bit pattern.
uint16_t NearestHalf(float value) {
  uint16_t best = 0;
  double best_distance = std::numeric_limits<double>::infinity();
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const double distance = std::abs(static_cast<double>(HalfToFloat(static_cast<uint16_t>(bits))) - std::abs(value));
    if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
      best = static_cast<uint16_t>(bits);
      best_distance = distance;
    }
  }
  return static_cast<uint16_t>(best | (std::signbit(value) ? 0x8000 : 0));
}

TEST(DTypeTest, NamesAndNumbersRoundTrip) {
  for (int number = 0; number < 256; ++number) {
    if (!IsValidDType(static_cast<uint8_t>(number))) continue;
    const auto dtype = static_cast<DType>(number);
    EXPECT_EQ(*DTypeFromName(ToString(dtype)), dtype);
    EXPECT_GT(ItemSize(dtype), 0u);
  }
  EXPECT_FALSE(IsValidDType(0));
  EXPECT_EQ(DTypeFromName("F31").status().code(), StatusCode::kInvalidArgument);
}

TEST(DTypeTest, EveryHalfRoundTripsThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool is_nan = (half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0;
    if (is_nan) {
      EXPECT_TRUE(std::isnan(HalfToFloat(half)));
    } else {
      EXPECT_EQ(FloatToHalf(HalfToFloat(half)), half);
    }
  }
}

TEST(DTypeTest, RoundsToTheNearestHalf) {
  for (const float value : {0.1f, -0.3f, 1.0f / 3, 65519.0f, 1e-5f, 3e-8f, 2.9802322e-8f, 6.1e-5f, 2049.0f, 2051.0f}) {
    EXPECT_EQ(FloatToHalf(value), NearestHalf(value)) << value;
  }
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7C00);  // half way past the largest: infinity
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(std::nanf("")))));
}

TEST(DTypeTest, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(FloatToBFloat16(1.0f), 0x3F80);
  EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // tie: even
  EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(0x3F818000u)), 0x3F82);  // tie: even
  EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(std::nanf("")))));
}

}  // namespace
}  // namespace espalier
