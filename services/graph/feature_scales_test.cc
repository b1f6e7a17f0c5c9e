#include "services/graph/feature_scales.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "services/graph/preprocess.h"
#include "services/graph/testing/small_graphs.h"

namespace espalier::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// [rows, width] values of both signs, whose magnitudes differ from column to column by factors of 10; column 0 is zero.
std::vector<float> RandomFeatures(size_t rows, size_t width) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(rows * width);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t j = i % width;
    values[i] = j == 0 ? 0.0F : uniform(random) * std::pow(10.0F, static_cast<float>(j) - 3);
  }
  return values;
}

std::vector<float> ScalesFor(const Tensor& column, int threads = 2) {
  const auto largest = FindLargestMagnitudes(column, false, 0, static_cast<uint64_t>(column.num_rows()), threads);
  EXPECT_TRUE(largest.ok()) << largest.status().ToString();
  return ComputeScales(*largest);
}

TEST(FeatureScalesTest, AWidenedValueIsWithinHalfAScaleOfTheFeature) {
  constexpr size_t kRows = 5000, kWidth = 7;
  const std::vector<float> values = RandomFeatures(kRows, kWidth);
  const Tensor column = Tensor::FromVector(values, {kRows, kWidth});
  const std::vector<float> scales = ScalesFor(column);
  ASSERT_EQ(scales.size(), kWidth);
  EXPECT_EQ(scales[0], 1.0F) << "a column of zeros";
  const Tensor integers = ScaleToIntegers(column, false, scales, 2);
  EXPECT_EQ(integers.dtype(), DType::kI8);
  EXPECT_EQ(integers.shape(), column.shape());
  const Tensor wide = WidenIntegers(integers, scales, 2);
  EXPECT_EQ(wide.shape(), column.shape());
  std::vector<int> largest(kWidth);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t j = i % kWidth;
    const int q = integers.values<int8_t>()[i];
    largest[j] = std::max(largest[j], std::abs(q));
    EXPECT_EQ(wide.values<float>()[i], static_cast<float>(q) * scales[j]) << i;
    EXPECT_LE(std::fabs(static_cast<double>(values[i]) - q * static_cast<double>(scales[j])),
              static_cast<double>(scales[j]) / 2)
        << i;
  }
  EXPECT_THAT(largest, ElementsAre(0, 127, 127, 127, 127, 127, 127)) << "the range of I8 is used in every column";
}

TEST(FeatureScalesTest, RoundsTiesToEven) {
  // The scale is 1.
  const Tensor column = Tensor::FromVector(std::vector<float>{127, 0.5F, 1.5F, -2.5F, -0.49F, -127}, {6, 1});
  const std::vector<float> scales = ScalesFor(column);
  EXPECT_THAT(scales, ElementsAre(1.0F));
  EXPECT_THAT(ScaleToIntegers(column, false, scales, 1).values<int8_t>(), ElementsAre(127, 0, 2, -2, 0, -127));
}

TEST(FeatureScalesTest, DoNotDependOnThreadsOrRanges) {
  const Tensor column = Tensor::FromVector(RandomFeatures(5000, 3), {5000, 3});
  const std::vector<float> scales = ScalesFor(column, 1);
  EXPECT_EQ(ScalesFor(column, 4), scales);
  std::vector<double> largest(3, 0);
  for (const auto& [first, last] : {std::pair(0u, 1700u), std::pair(1700u, 1700u), std::pair(1700u, 5000u)}) {
    const auto of_range = FindLargestMagnitudes(column, false, first, last, 2);
    ASSERT_TRUE(of_range.ok());
    for (size_t j = 0; j < 3; ++j) largest[j] = std::max(largest[j], (*of_range)[j]);
  }
  EXPECT_EQ(ComputeScales(largest), scales);
  const Tensor one = ScaleToIntegers(column, false, scales, 1), four = ScaleToIntegers(column, false, scales, 4);
  EXPECT_TRUE(std::ranges::equal(one.byte_span(), four.byte_span()));
}

TEST(FeatureScalesTest, HoldTheSmallestAndTheLargestValues) {
  for (const float value : {std::numeric_limits<float>::denorm_min(), 1e-44F, std::numeric_limits<float>::min(), 1.0F,
                            std::numeric_limits<float>::max()}) {
    const Tensor column = Tensor::FromVector(std::vector<float>{value, -value, 0}, {3, 1});
    const std::vector<float> scales = ScalesFor(column);
    const Tensor wide = WidenIntegers(ScaleToIntegers(column, false, scales, 1), scales, 1);
    EXPECT_TRUE(std::isfinite(wide.values<float>()[0])) << value;
    EXPECT_NEAR(wide.values<float>()[0] / value, 1, 1e-6) << value;
    EXPECT_EQ(wide.values<float>()[1], -wide.values<float>()[0]) << value;
    EXPECT_EQ(wide.values<float>()[2], 0) << value;
  }
}

TEST(FeatureScalesTest, OfRowsThatAreDividedByTheirSums) {
  const Tensor column = Tensor::FromVector(std::vector<double>{1, 3, 5, 5}, {2, 2});  // 0.25, 0.75; 0.5, 0.5
  const auto largest = FindLargestMagnitudes(column, true, 0, 2, 1);
  ASSERT_TRUE(largest.ok());
  EXPECT_THAT(*largest, ElementsAre(0.5, 0.75));
  EXPECT_THAT(ScaleToIntegers(column, true, ComputeScales(*largest), 1).values<int8_t>(),
              ElementsAre(64, 127, 127, 85));  // 63.5 rounds to 64, 84.67 to 85
}

TEST(FeatureScalesTest, NameTheFirstRowThatIsNotFinite) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();
  std::vector<float> values(2 * 5000, 1);
  values[2 * 4321 + 1] = kNaN, values[2 * 4400] = -kInfinite;
  const Tensor column = Tensor::FromVector(std::move(values), {5000, 2});
  const auto error = [&](uint64_t first, uint64_t last) {
    return FindLargestMagnitudes(column, false, first, last, 2).status();
  };
  EXPECT_EQ(error(0, 5000).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error(0, 5000).message(),
            "row 4321 is not finite in F32: I8 has only finite values; correct the row, or choose another feature data "
            "type");
  EXPECT_THAT(error(4322, 5000).message(), HasSubstr("row 4400 is not finite"));
  EXPECT_EQ(error(0, 4321), Status());
  const Tensor wide = Tensor::FromVector(std::vector<double>{1, 1e300}, {2, 1});
  EXPECT_THAT(FindLargestMagnitudes(wide, false, 0, 2, 1).status().message(), HasSubstr("row 1 is not finite in F32"));
  const Tensor numbers = Tensor::FromVector(std::vector<float>{1, 2});
  EXPECT_THAT(FindLargestMagnitudes(numbers, false, 0, 2, 1).status().message(), HasSubstr("holds no features"));
}

TEST(FeatureScalesTest, RequireOnePositiveScalePerElement) {
  const auto error = [](DType dtype, std::vector<float> scales) { return CheckScales(dtype, 2, scales).message(); };
  EXPECT_EQ(CheckScales(DType::kI8, 2, std::vector<float>{1, 0.5F}), Status());
  EXPECT_EQ(error(DType::kU8, {1, 1}), "scales for values of U8, expected I8");
  EXPECT_EQ(error(DType::kI8, {1}), "1 scales, expected one for each of the 2 elements of a row");
  EXPECT_THAT(error(DType::kI8, {1, 0}), HasSubstr("scale 1 is 0.000000, expected a positive finite number"));
  EXPECT_THAT(error(DType::kI8, {-1, 1}), HasSubstr("scale 0 is -1"));
  EXPECT_THAT(error(DType::kI8, {1, std::numeric_limits<float>::infinity()}), HasSubstr("scale 1 is inf"));
  EXPECT_THAT(error(DType::kI8, {std::numeric_limits<float>::quiet_NaN(), 1}), HasSubstr("scale 0 is"));
}

TEST(FeatureScalesTest, PreprocessingStoresScalesBesideFeatures) {
  SourceGraph graph = testing::PathGraph(2);
  graph.nodes[0].columns["node-feat"] = Tensor::FromVector(std::vector<float>{1, 127, -0.5F, 254}, {2, 2});
  graph.nodes[0].columns["node-label"] = Tensor::FromVector(std::vector<float>{1, 1, 1, 0}, {2, 2});
  graph.nodes[0].columns["mine"] = Tensor::FromVector(std::vector<int8_t>{1, 2, 3, 4}, {2, 2});
  const auto made = Preprocess(graph, {.features = {.dtype = DType::kI8}}, 2);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const NodeSet& nodes = made->nodes[0];
  EXPECT_EQ(nodes.columns.at("node-feat").dtype(), DType::kI8);
  EXPECT_THAT(nodes.columns.at("node-feat").values<int8_t>(), ElementsAre(127, 64, -64, 127));
  ASSERT_EQ(nodes.scales.size(), 1u) << "neither labels nor a user's integers have scales";
  EXPECT_THAT(nodes.scales.at("node-feat"), ElementsAre(1.0F / 127, 2.0F));
  EXPECT_THAT(nodes.columns.at("mine").values<int8_t>(), ElementsAre(1, 2, 3, 4));

  graph.nodes[0].columns["node-feat"] =
      Tensor::FromVector(std::vector<float>{1, 2, 3, std::numeric_limits<float>::infinity()}, {2, 2});
  EXPECT_THAT(Preprocess(graph, {.features = {.dtype = DType::kI8}}, 1).status().message(),
              HasSubstr("converting features: node type 'node', column 'node-feat': row 1 is not finite in F32"));
}

}  // namespace
}  // namespace espalier::graph
