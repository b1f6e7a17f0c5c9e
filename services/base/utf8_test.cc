#include "services/base/utf8.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Utf8Test, AcceptsOnlyValidText) {
  for (const char* text : {"", "abc", "\n\t", "caf\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x8C\xB3", "\xEF\xBB\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(std::string("a\0b", 3)));
  // A continuation byte alone, a cut character, an overlong encoding, a surrogate, a code point above U+10FFFF.
  for (const char* text : {"\xBD", "caf\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF\xFE"}) {
    EXPECT_FALSE(IsUtf8(text));
  }
}

}  // namespace
}  // namespace espalier
