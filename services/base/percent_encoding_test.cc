#include "services/base/percent_encoding.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(PercentEncodingTest, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(PercentEncode("aZ09-._~", SlashEncoding::kEncode), "aZ09-._~");
  EXPECT_EQ(PercentEncode(" /?#%&=+\xff", SlashEncoding::kEncode), "%20%2F%3F%23%25%26%3D%2B%FF");
  EXPECT_EQ(PercentEncode(std::string_view("\0", 1), SlashEncoding::kEncode), "%00");
}

TEST(PercentEncodingTest, EncodesAndDecodes) {
  const std::string all = "a/b c+d%\xc3\xa4~";
  EXPECT_EQ(PercentEncode(all, SlashEncoding::kKeep), "a/b%20c%2Bd%25%C3%A4~");
  EXPECT_EQ(PercentEncode("a/b", SlashEncoding::kEncode), "a%2Fb");
  EXPECT_EQ(*PercentDecode(PercentEncode(all, SlashEncoding::kEncode), PlusDecoding::kSpace), all);
  EXPECT_EQ(*PercentDecode("a+b", PlusDecoding::kSpace), "a b");
  EXPECT_EQ(*PercentDecode("a+b", PlusDecoding::kKeep), "a+b");
  for (const char* text : {"%", "%4", "%zz", "a%4"})
    EXPECT_FALSE(PercentDecode(text, PlusDecoding::kKeep).ok()) << text;
}

}  // namespace
}  // namespace espalier
