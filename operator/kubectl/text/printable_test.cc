#include "operator/kubectl/text/printable.h"

#include <gtest/gtest.h>

namespace espalier::ctl::text {
namespace {

TEST(PrintableTest, KeepsTextOfAnyLanguage) {
  EXPECT_EQ(Printable("Nürnberg 東京 €3 🙂 a\\b"), "Nürnberg 東京 €3 🙂 a\\b");
}

TEST(PrintableTest, EscapesTerminalControls) {
  EXPECT_EQ(Printable("\x1b[2Jgone"), "\\x1b[2Jgone");
  EXPECT_EQ(Printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(Printable("a\bb\x7f"), "a\\x08b\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
}

// CSI is also the single character U+009B, for terminals that take eight-bit controls.
TEST(PrintableTest, ShowsEightBitControlsInBothSpellings) {
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(Printable("\x9b"
                      "2J"),
            "\\x9b2J");
}

TEST(PrintableTest, EscapesBidirectionalControls) {
  EXPECT_EQ(Printable("a\u202etxt.exe\u2066"), "a\\u202etxt.exe\\u2066");
  EXPECT_EQ(Printable("a\u2028b"), "a\\u2028b");
}

TEST(PrintableTest, EscapesInvalidUtf8) {
  EXPECT_EQ(Printable("a\xff"), "a\\xff");
  EXPECT_EQ(Printable("\xc3"), "\\xc3");                    // truncated
  EXPECT_EQ(Printable("\xc0\x9b"), "\\xc0\\x9b");           // an overlong encoding of ESC
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(Printable("\xe2\x82z"), "\\xe2\\x82z");         // the z is a character of its own
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(PrintableTest, KeepsNewlinesAndTabsOnRequest) {
  EXPECT_EQ(Printable("a\tb\r\nc"), "a\\tb\\r\\nc");
  EXPECT_EQ(Printable("a\tb\r\nc", Spacing::kKeepLinesTabs), "a\tb\\r\nc");
}

TEST(PrintableTest, CutsBetweenCharacters) {
  EXPECT_EQ(DisplayWidth("äöü"), 3u);
  EXPECT_EQ(CutToWidth("äöü", 3), "äöü");
  EXPECT_EQ(CutToWidth("äöüß", 3), "äö…");
  EXPECT_EQ(CutToWidth("abc", 0), "");
}

}  // namespace
}  // namespace espalier::ctl::text
