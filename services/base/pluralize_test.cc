#include "services/base/pluralize.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(PluralizeTest, OneIsSingularAndEveryOtherCountIsPlural) {
  EXPECT_EQ(Pluralize(0, "file"), "0 files");
  EXPECT_EQ(Pluralize(1, "file"), "1 file");
  EXPECT_EQ(Pluralize(2, "training node"), "2 training nodes");
  EXPECT_EQ(Pluralize(1, "class"), "1 class");
  EXPECT_EQ(Pluralize(2, "class"), "2 classes");
}

}  // namespace
}  // namespace espalier
