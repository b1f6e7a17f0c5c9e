#include "services/base/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace espalier {
namespace {

TEST(ParseNumberTest, ParsesWholeTexts) {
  EXPECT_EQ(ParseNumber<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseNumber<int64_t>("-12"), -12);
  EXPECT_EQ(ParseNumber<uint32_t>("007"), 7u);
  EXPECT_EQ(ParseNumber<double>("2.5e3"), 2500.0);
}

TEST(ParseNumberTest, RefusesOtherTexts) {
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "0x1", "1.0"}) {
    EXPECT_EQ(ParseNumber<int64_t>(text), std::nullopt) << "'" << text << "'";
  }
  EXPECT_EQ(ParseNumber<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseNumber<uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(ParseNumber<int64_t>(std::string_view()), std::nullopt);
}

}  // namespace
}  // namespace espalier
