#include "services/base/base64.h"

#include <gtest/gtest.h>

#include <utility>

namespace espalier {
namespace {

TEST(Base64Test, MatchesRfc4648) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {std::string("\0\xff", 2), "AP8="}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    EXPECT_EQ(DecodeBase64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(DecodeBase64(EncodeBase64(all)), all);
}

TEST(Base64Test, SkipsWhiteSpaceAndMissingPadding) {
  for (const char* const text : {"Zm9v\r\nYmE=\n", "Zm9vYmE"}) EXPECT_EQ(DecodeBase64(text), "fooba") << text;
}

TEST(Base64Test, RefusesInvalidText) {
  for (const char* const text :
       {"Z", "Zg=", "Zg===", "Zm9v=", "=Zm9", "Zm=v", "Zm9-", "====", "=", "Zg==Zg==", "Zm9\x80"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace espalier
