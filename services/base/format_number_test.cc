#include "services/base/format_number.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

namespace espalier {
namespace {

TEST(FormatNumberTest, RoundsToDecimals) {
  EXPECT_EQ(FormatFixed(2.5, 2), "2.50");
  EXPECT_EQ(FormatFixed(99.996, 2), "100.00");
  EXPECT_EQ(FormatFixed(-0.04, 1), "-0.0");
  EXPECT_EQ(FormatFixed(12.6, 0), "13");
}

TEST(FormatNumberTest, RoundsToSignificantDigits) {
  EXPECT_EQ(FormatSignificant(0.52134567, 4), "0.5213");
  EXPECT_EQ(FormatSignificant(12, 4), "12");
  EXPECT_EQ(FormatSignificant(123456, 4), "1.235e+05");
  EXPECT_EQ(FormatSignificant(1e-5, 6), "1e-05");
  EXPECT_EQ(FormatSignificant(0.1, 17), "0.10000000000000001");
}

// The results equal those of C's printf.
TEST(FormatNumberTest, WritesLikePrintf) {
  const double largest = std::numeric_limits<double>::max(), infinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.0, -0.0, 1.0 / 3, 2.675, 1e15, 5e-324, -largest, infinity, -infinity}) {
    char text[400];
    std::snprintf(text, sizeof(text), "%.3f", value);
    EXPECT_EQ(FormatFixed(value, 3), text);
    std::snprintf(text, sizeof(text), "%.17g", value);
    EXPECT_EQ(FormatSignificant(value, 17), text);
  }
  EXPECT_EQ(FormatFixed(std::numeric_limits<double>::quiet_NaN(), 3), "nan");
}

}  // namespace
}  // namespace espalier
