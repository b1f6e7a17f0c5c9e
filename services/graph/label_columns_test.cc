#include "services/graph/label_columns.h"

#include <gtest/gtest.h>

#include <limits>

namespace espalier::graph {
namespace {

TEST(LabelColumnsTest, LabelColumnsMayLackValues) {
  const LabelColumns labels;
  for (const char* name :
       {"label", "labels", "Label", "y", "Y", "node-label", "node_label", "edge-labels", "a.label"}) {
    EXPECT_TRUE(labels.MayLackValues(name)) << name;
  }
  for (const char* name : {"", "feat", "labeled", "label-feat", "x-y", "unlabel", "day", "year"}) {
    EXPECT_FALSE(labels.MayLackValues(name)) << name;
  }
}

TEST(LabelColumnsTest, UsersAddAndRemoveColumns) {
  const LabelColumns labels{.labels = {"score", "stars"}, .complete = {"stars", "label"}};
  EXPECT_TRUE(labels.MayLackValues("score"));
  EXPECT_FALSE(labels.MayLackValues("stars"));
  EXPECT_FALSE(labels.MayLackValues("label"));
  EXPECT_TRUE(labels.MayLackValues("y"));
}

TEST(LabelColumnsTest, OnlyNanIsMissing) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(HasMissingValues(Tensor::FromVector<float>({0, 1, 2, kNan}, {2, 2})));
  EXPECT_TRUE(HasMissingValues(Tensor::FromVector<double>({kNan})));
  const uint16_t halves[] = {FloatToHalf(1), FloatToHalf(kNan)};
  EXPECT_TRUE(HasMissingValues(Tensor::Wrap(DType::kF16, {2}, halves, nullptr)));
  EXPECT_FALSE(HasMissingValues(Tensor::Wrap(DType::kF16, {1}, halves, nullptr)));
  EXPECT_FALSE(HasMissingValues(Tensor::FromVector<float>({0, -1})));
  EXPECT_FALSE(HasMissingValues(Tensor::FromVector<int64_t>({-1})));
  EXPECT_FALSE(HasMissingValues(Tensor::Zeros(DType::kF32, {0, 3})));
}

}  // namespace
}  // namespace espalier::graph
