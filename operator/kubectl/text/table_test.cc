#include "operator/kubectl/text/table.h"

#include <gtest/gtest.h>

namespace espalier::ctl::text {
namespace {

TEST(TableTest, LinesUpColumnsByCharacters) {
  Table table({"NAME", "PHASE", "AGE"});
  EXPECT_TRUE(table.empty());
  table.Add({"größe", "Failed", "2 s"});
  table.Add({"a", "", ""});
  EXPECT_EQ(table.Text(2),
            "  NAME    PHASE    AGE\n"
            "  größe   Failed   2 s\n"
            "  a\n");
}

TEST(TableTest, CellIsOneLine) {
  Table table({"MESSAGE"});
  table.Add({"first\nsecond\x1b[A"});
  EXPECT_EQ(table.Text(), "MESSAGE\nfirst\\nsecond\\x1b[A\n");
}

}  // namespace
}  // namespace espalier::ctl::text
