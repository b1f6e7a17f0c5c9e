// Runs the example's initializer on servers: rows depend only on the original ids of their nodes, not on the
// partitioning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/open_served.h"

namespace example {
namespace {

using espalier::DType;
using espalier::GlobalNodeId;
using espalier::NodeTypeId;
using espalier::StatusCode;
using espalier::client::DistTensor;
using espalier::client::Initializer;
using espalier::client::RowSpace;
using espalier::client::testing::OpenServed;
using espalier::client::testing::ServedGraph;
using espalier::client::testing::WithPlugin;
using ::testing::HasSubstr;

class RowPluginTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RowPluginTest, EncodesOriginalIds) {
  const ServedGraph served(espalier::client::testing::SmallGraph(), GetParam(),
                           WithPlugin("rows", ESPALIER_EXAMPLE_ROWS));
  const auto graph = OpenServed(served.addresses());
  std::vector<GlobalNodeId> nodes;
  for (uint64_t id = 0; id < graph->num_nodes(); ++id) nodes.emplace_back(id);
  const auto ids = graph->GatherNodeRows(NodeTypeId(0), "original_id", nodes);
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();

  const auto positions = DistTensor::Create(*graph, {.rows = RowSpace::Nodes(NodeTypeId(0)),
                                                     .row_shape = {4},
                                                     .initializer = Initializer::Plugin("rows/sinusoids", "100")});

  ASSERT_TRUE(positions.ok()) << positions.status().ToString();
  const auto rows = positions->ReadRows(espalier::client::ToRowIds(nodes));
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  for (size_t row = 0; row < nodes.size(); ++row) {
    const auto id = static_cast<double>(ids->ValueAsInt(static_cast<int64_t>(row)));
    const double expected[] = {std::sin(id), std::cos(id), std::sin(id / 10), std::cos(id / 10)};  // 100^(2/4) is 10
    for (size_t column = 0; column < 4; ++column) {
      ASSERT_NEAR(rows->values<float>()[row * 4 + column], expected[column], 1e-5) << "node " << id;
    }
  }
}

TEST_P(RowPluginTest, NamesErrorsOfArguments) {
  const ServedGraph served(espalier::client::testing::SmallGraph(), GetParam(),
                           WithPlugin("rows", ESPALIER_EXAMPLE_ROWS));
  const auto graph = OpenServed(served.addresses());
  const auto error_of = [&](const std::string& arguments, DType dtype) {
    return DistTensor::Create(*graph, {.rows = RowSpace::Nodes(NodeTypeId(0)),
                                       .dtype = dtype,
                                       .initializer = Initializer::Plugin("rows/sinusoids", arguments)})
        .status();
  };
  for (const char* wrong : {"", "many", "1", "-3", "10 "}) {
    EXPECT_EQ(error_of(wrong, DType::kF32).code(), StatusCode::kInvalidArgument) << wrong;
  }
  EXPECT_THAT(error_of("many", DType::kF32).message(), HasSubstr("expected a number above 1, found 'many'"));
  EXPECT_THAT(error_of("100", DType::kI64).message(), HasSubstr("the tensor's dtype is 6, expected 9"));
}

INSTANTIATE_TEST_SUITE_P(Partitions, RowPluginTest, ::testing::Values(1u, 3u));

}  // namespace
}  // namespace example
