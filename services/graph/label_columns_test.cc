#include "services/graph/label_columns.h"

#include <gtest/gtest.h>

namespace espalier::graph {
namespace {

TEST(LabelColumnsTest, NamesOfLabelsMayLackValues) {
  const LabelColumns labels;
  for (const char* name :
       {"label", "labels", "Label", "y", "Y", "node-label", "node_label", "edge-labels", "a.label"}) {
    EXPECT_TRUE(labels.MayLackValues(name)) << name;
  }
  for (const char* name : {"", "feat", "labelled", "label-feat", "x-y", "unlabel", "day", "year"}) {
    EXPECT_FALSE(labels.MayLackValues(name)) << name;
  }
}

TEST(LabelColumnsTest, UsersNameMoreAndTakeSomeAway) {
  const LabelColumns labels{.labels = {"score", "stars"}, .complete = {"stars", "label"}};
  EXPECT_TRUE(labels.MayLackValues("score"));
  EXPECT_FALSE(labels.MayLackValues("stars"));
  EXPECT_FALSE(labels.MayLackValues("label"));
  EXPECT_TRUE(labels.MayLackValues("y"));
}

}  // namespace
}  // namespace espalier::graph
