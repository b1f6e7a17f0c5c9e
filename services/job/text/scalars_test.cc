#include "services/job/text/scalars.h"

#include <gtest/gtest.h>

namespace espalier::job {
namespace {

TEST(ScalarsTest, ParsesNumbersOfJson) {
  for (const char* text : {"0", "-1", "10", "9223372036854775807"}) EXPECT_TRUE(IsJsonInteger(text)) << text;
  for (const char* text : {"", "-", "+1", "01", "1.0", "1e3", "0x1", "1_0"}) EXPECT_FALSE(IsJsonInteger(text)) << text;
  for (const char* text : {"0", "-0.5", "1e-05", "2.5E+3"}) EXPECT_TRUE(IsJsonNumber(text)) << text;
  for (const char* text : {".5", "1.", "1e", "nan", ".inf", "1.0.0", "1e+", "--1"})
    EXPECT_FALSE(IsJsonNumber(text)) << text;
}

TEST(ScalarsTest, ReadsSizesOfMemoryAsKubernetesDoes) {
  EXPECT_EQ(ReadMemorySize("1"), 1u);
  EXPECT_EQ(ReadMemorySize("2Gi"), uint64_t{2} << 30);
  EXPECT_EQ(ReadMemorySize("3k"), 3000u);
  EXPECT_EQ(ReadMemorySize("5Ki"), 5120u);
  EXPECT_EQ(ReadMemorySize("7T"), 7'000'000'000'000u);
  EXPECT_EQ(ReadMemorySize("1048575Ti"), uint64_t{1048575} << 40);
  for (const char* text :
       {"", "0", "01", "-1", "1.5Gi", "1KiB", "1m", "1K", "1ki", "Gi", "1 Gi", "1048576Ti", "18446744073709551616"}) {
    EXPECT_EQ(ReadMemorySize(text), std::nullopt) << text;
  }
}

TEST(ScalarsTest, FindsAmbiguousText) {
  for (const char* text : {"y", "N", "Yes", "off", "TRUE"}) EXPECT_STREQ(OtherTypeOfScalar(text), "a boolean") << text;
  for (const char* text : {"1", "-2.5", "1_000", "0o17", "0xFF", "1:30", "+1", ".5", ".NaN", "-.inf", "1e3", "0b11"}) {
    EXPECT_STREQ(OtherTypeOfScalar(text), "a number") << text;
  }
  EXPECT_STREQ(OtherTypeOfScalar("2024-02-29"), "a date");
  EXPECT_STREQ(OtherTypeOfScalar("<<"), "a special key");
}

TEST(ScalarsTest, AcceptsOrdinaryText) {
  for (const char* text : {"public", "node-feat", "5fold", "a:b:c", "/srv/graph", "v1.2.3", "yesterday", "1-2", "e5",
                           "-", ".", "100m", "0xyz", "24-1-1"}) {
    EXPECT_EQ(OtherTypeOfScalar(text), nullptr) << text;
  }
}

}  // namespace
}  // namespace espalier::job
