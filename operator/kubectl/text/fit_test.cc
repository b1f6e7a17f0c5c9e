#include "operator/kubectl/text/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::text {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitLinesTest, ALineEndsWithItsNewlineOrTheText) {
  EXPECT_THAT(SplitLines(""), IsEmpty());
  EXPECT_THAT(SplitLines("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(SplitLines("a\n"), ElementsAre("a"));
}

TEST(WrapLineTest, BreaksBetweenWordsWhereThatFillsARow) {
  EXPECT_THAT(WrapLine("the cat sat", 11, 9), ElementsAre("the cat sat"));
  EXPECT_THAT(WrapLine("the cat sat", 10, 9), ElementsAre("the cat", "sat"));
  EXPECT_THAT(WrapLine("the cat sat", 7, 9), ElementsAre("the cat", "sat"));
  EXPECT_THAT(WrapLine("a wordthatislong", 8, 9), ElementsAre("a wordth", "atislong"));
  EXPECT_THAT(WrapLine("äöüäöü", 4, 9), ElementsAre("äöüä", "öü"));
}

TEST(WrapLineTest, LastRowMarksTruncation) {
  EXPECT_THAT(WrapLine("the cat sat on the mat", 8, 2), ElementsAre("the cat", "sat on …"));
  EXPECT_THAT(WrapLine("the cat", 3, 1), ElementsAre("th…"));
}

TEST(WrapLineTest, EveryLineIsARow) {
  EXPECT_THAT(WrapLine("", 8, 3), ElementsAre(""));
  EXPECT_THAT(WrapLine("\tat main", 8, 3), ElementsAre(" at main"));
}

TEST(FitTextTest, SharesTheRowsAmongTheLines) {
  EXPECT_EQ(FitText("one\ntwo", 8, 2), "one\ntwo");
  EXPECT_EQ(FitText("short\nthe cat sat on the mat", 8, 3), "short\nthe cat\nsat on …");
  EXPECT_EQ(FitText("\nafter an empty one", 20, 3), "\nafter an empty one");
  EXPECT_EQ(FitText("", 8, 3), "");
}

TEST(FitTextTest, KeepsFirstAndLastLines) {
  EXPECT_EQ(FitText("1\n2\n3\n4\n5\n6", 8, 4), "1\n2\n…\n6");
  EXPECT_EQ(FitText("1\n2\n3", 8, 2), "1\n…");
}

TEST(LastRowsTest, KeepsLastRows) {
  EXPECT_THAT(LastRows({"one", "two", "three"}, 8, 2), ElementsAre("two", "three"));
  EXPECT_THAT(LastRows({"one", "the cat sat on the mat today"}, 8, 9),
              ElementsAre("one", "the cat", "sat on", "the mat…"));
  EXPECT_THAT(LastRows({"the cat sat", "last"}, 8, 2), ElementsAre("the cat…", "last"));
  EXPECT_THAT(LastRows({"one"}, 8, 0), IsEmpty());
}

TEST(SharedRowsTest, DividesRowsFairly) {
  EXPECT_THAT(ShareRows({1, 15, 8}, 10), ElementsAre(1u, 5u, 4u));
  EXPECT_THAT(ShareRows({1, 2}, 10), ElementsAre(1u, 2u));
  EXPECT_THAT(ShareRows({3, 3}, 1), ElementsAre(1u, 0u));
  EXPECT_THAT(ShareRows({}, 4), IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::text
