// Calls the example's plugin on servers: the merged responses are the same for every number of partitions, and agree
// with the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "merge_answers.h"
#include "services/client/graph/dist_graph.h"
#include "services/client/testing/open_served.h"

namespace example {
namespace {

using espalier::GlobalNodeId;
using espalier::NodeTypeId;
using espalier::StatusCode;
using espalier::client::DistGraph;
using espalier::client::testing::OpenServed;
using espalier::client::testing::ServedGraph;
using espalier::client::testing::WithPlugin;
using ::testing::HasSubstr;

class DegreePluginTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  DegreePluginTest()
      : source_(espalier::client::testing::SmallGraph()),
        served_(source_, GetParam(), WithPlugin("degrees", ESPALIER_EXAMPLE_DEGREES)),
        graph_(OpenServed(served_.addresses())) {}

  std::string node_type() const { return source_.schema.node_types().front(); }

  const espalier::graph::SourceGraph source_;
  const ServedGraph served_;
  const std::unique_ptr<DistGraph> graph_;
};

TEST_P(DegreePluginTest, CountsTheNodesOfEachInDegree) {
  const espalier::Tensor& destinations = source_.edges[0].destinations;
  std::map<uint64_t, uint64_t> degree_of;
  for (int64_t i = 0; i < destinations.num_elements(); ++i) {
    ++degree_of[static_cast<uint64_t>(destinations.ValueAsInt(i))];
  }
  std::map<uint64_t, uint64_t> wanted = {{0, graph_->num_nodes() - degree_of.size()}};
  for (const auto& [node, degree] : degree_of) ++wanted[degree];
  if (wanted[0] == 0) wanted.erase(0);

  const auto answers = graph_->CallFunctionEverywhere("degrees/in_degrees", source_.schema.edge_types()[0].relation);

  ASSERT_TRUE(answers.ok()) << answers.status().ToString();
  EXPECT_EQ(MergeNodesByDegree(*answers), wanted);
}

TEST_P(DegreePluginTest, FindsTheLargestRows) {
  constexpr size_t kCount = 7, kElement = 2;
  std::vector<GlobalNodeId> nodes;
  for (uint64_t id = 0; id < graph_->num_nodes(); ++id) nodes.emplace_back(id);
  const auto features = graph_->GatherNodeRows(NodeTypeId(0), "node-feat", nodes);
  const auto ids = graph_->GatherNodeRows(NodeTypeId(0), "original_id", nodes);
  ASSERT_TRUE(features.ok() && ids.ok()) << features.status().ToString() << ids.status().ToString();
  const auto width = static_cast<size_t>(features->shape()[1]);
  std::vector<std::pair<double, uint64_t>> wanted;
  for (size_t i = 0; i < nodes.size(); ++i) {
    wanted.emplace_back(-double{features->values<float>()[i * width + kElement]},
                        static_cast<uint64_t>(ids->ValueAsInt(static_cast<int64_t>(i))));
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.resize(kCount);
  for (auto& [value, id] : wanted) value = -value;

  const auto answers = graph_->CallFunctionEverywhere("degrees/top_rows", node_type() + " node-feat 2 7");

  ASSERT_TRUE(answers.ok()) << answers.status().ToString();
  const auto largest = MergeLargest(*answers, kCount);
  ASSERT_EQ(largest.size(), kCount);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(largest[i].second, wanted[i].second);
    EXPECT_FLOAT_EQ(static_cast<float>(largest[i].first), static_cast<float>(wanted[i].first));
  }
}

TEST(MergeLargestTest, ReadsInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(MergeLargest({"inf 3\n2.5 4\n-inf 5\n", "7 2\n"}, 9),
              ::testing::ElementsAre(std::pair{infinity, uint64_t{3}}, std::pair{7.0, uint64_t{2}},
                                     std::pair{2.5, uint64_t{4}}, std::pair{-infinity, uint64_t{5}}));
}

TEST_P(DegreePluginTest, NamesErrorsOfRequest) {
  const auto error_of = [&](const std::string& function, const std::string& request) {
    return graph_->CallFunctionEverywhere("degrees/" + function, request).status();
  };
  EXPECT_EQ(error_of("in_degrees", "nothing").code(), StatusCode::kNotFound);
  EXPECT_EQ(error_of("top_rows", "").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error_of("top_rows", node_type() + " node-feat 4 1").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error_of("top_rows", node_type() + " node-feat 0 1001").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error_of("top_rows", node_type() + " nothing 0 1").code(), StatusCode::kNotFound);
  EXPECT_EQ(error_of("top_rows", node_type() + " original_id 0 1").code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(error_of("top_rows", "nothing node-feat 0 1").message(), HasSubstr("no node type 'nothing'"));
}

INSTANTIATE_TEST_SUITE_P(Partitions, DegreePluginTest, ::testing::Values(1u, 2u, 3u));

}  // namespace
}  // namespace example
