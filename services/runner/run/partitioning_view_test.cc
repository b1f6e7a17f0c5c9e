#include "services/runner/run/partitioning_view.h"

#include <gtest/gtest.h>

namespace espalier::run {
namespace {

TEST(PartitioningViewTest, ShowsPhaseAndProgress) {
  const auto writing = ParsePartitioningStatus(
      R"({"job": "cora", "rank": 0, "phase": "writing", "phaseSeconds": 12.3, "phasePercent": 25,
          "seconds": {"reading": 1.5, "writing": 12.3}, "readBytes": 1200000, "writtenBytes": 0, "later": [1]})");
  ASSERT_TRUE(writing.has_value());
  EXPECT_EQ(writing->text, "writing 12 s  read 1.2 MB");
  EXPECT_EQ(writing->fraction, 0.25);
  EXPECT_NEAR(writing->remaining_seconds.value_or(0), 3 * 12.3, 1e-9);
  const auto cutting = ParsePartitioningStatus(R"({"phase": "cutting"})");
  ASSERT_TRUE(cutting.has_value());
  EXPECT_EQ(cutting->text, "cutting");
  EXPECT_LT(cutting->fraction, 0);
  EXPECT_FALSE(cutting->remaining_seconds.has_value());
}

TEST(PartitioningViewTest, IgnoresMalformedStatus) {
  for (const char* text : {"", "{", "[]", "{}", R"({"epoch": 3})", R"({"phase": 7})"}) {
    EXPECT_FALSE(ParsePartitioningStatus(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace espalier::run
