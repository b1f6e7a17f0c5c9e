#include "services/partition/undirected_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {
namespace {

using ::testing::ElementsAre;
using testing::GraphOf;
using testing::GridGraph;
using ::testing::IsEmpty;
using testing::TypedGraph;

// 0 <-> 1 twice one way and once the other, 1 -> 2, and a self loop.
TEST(UndirectedGraphTest, MergesBothDirectionsAndCountsThem) {
  const UndirectedGraph graph = *MakeUndirectedGraph(GraphOf(3, {{0, 1}, {0, 1}, {1, 0}, {1, 2}, {2, 2}}), 1);
  EXPECT_THAT(graph.offsets, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(graph.neighbors, ElementsAre(1, 0, 2, 1));
  EXPECT_THAT(graph.weights, ElementsAre(3, 3, 1, 1));
}

TEST(UndirectedGraphTest, FewNodesAreAssignedWithoutACut) {
  const graph::SourceGraph three = GraphOf(3, {{0, 1}, {1, 2}});
  EXPECT_THAT(AssignWithoutCut(three, {.num_partitions = 1})->value(), ElementsAre(ElementsAre(0, 0, 0)));
  EXPECT_THAT(AssignWithoutCut(three, {.num_partitions = 3})->value(), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_FALSE(AssignWithoutCut(three, {.num_partitions = 2})->has_value());
  EXPECT_EQ(AssignWithoutCut(three, {.num_partitions = 0}).status().message(),
            "partitions: expected at least 1, found 0");
  EXPECT_EQ(AssignWithoutCut(GraphOf(3, {{0, 3}}), {.num_partitions = 1}).status().code(), StatusCode::kOutOfRange);
}

TEST(UndirectedGraphTest, CallsBackWithDegreesBeforeReadingNeighbors) {
  std::vector<uint64_t> asked;
  const Status refused = MakeUndirectedGraph(GraphOf(3, {{0, 1}, {0, 1}, {1, 0}, {1, 2}, {2, 2}}), 1,
                                             [&](std::span<const uint64_t> offsets) {
                                               asked.assign(offsets.begin(), offsets.end());
                                               return ResourceExhausted("too many");
                                             })
                             .status();
  EXPECT_THAT(asked, ElementsAre(0, 3, 7, 8));
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
}

TEST(UndirectedGraphTest, LeavesWeightsOutWhereAllAreEqual) {
  const UndirectedGraph graph = *MakeUndirectedGraph(GridGraph(1, 3), 1);
  EXPECT_THAT(graph.neighbors, ElementsAre(1, 0, 2, 1));
  EXPECT_THAT(graph.weights, IsEmpty());
  EXPECT_EQ(graph.WeightAt(0), 1u);
}

TEST(UndirectedGraphTest, MatchesCountsByHand) {
  const graph::SourceGraph source = TypedGraph(300, /*seed=*/4);
  const std::vector<uint64_t> first = VertexFirst(source);
  EXPECT_THAT(first, ElementsAre(0, 300, 1200, 1200));
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> by_hand;
  for (uint16_t type = 0; type < source.edges.size(); ++type) {
    const graph::EdgeSet& edges = source.edges[type];
    for (int64_t i = 0; i < edges.sources.num_rows(); ++i) {
      const uint64_t u =
          first[source.schema.SourceOf(EdgeTypeId(type)).value] + static_cast<uint64_t>(edges.sources.ValueAsInt(i));
      const uint64_t v = first[source.schema.DestinationOf(EdgeTypeId(type)).value] +
                         static_cast<uint64_t>(edges.destinations.ValueAsInt(i));
      if (u == v) continue;
      ++by_hand[{u, v}];
      ++by_hand[{v, u}];
    }
  }
  for (const int threads : {1, 3}) {
    const UndirectedGraph graph = *MakeUndirectedGraph(source, threads);
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> built;
    for (uint64_t vertex = 0; vertex < graph.num_vertices(); ++vertex) {
      for (uint64_t k = graph.offsets[vertex]; k < graph.offsets[vertex + 1]; ++k) {
        built[{vertex, graph.neighbors[k]}] += graph.WeightAt(k);
      }
    }
    EXPECT_EQ(built, by_hand);
  }
}

TEST(UndirectedGraphTest, SplitsVerticesByType) {
  EXPECT_EQ(SplitByType({0, 2, 2, 3}, {7, 8, 9}), (Assignment{{7, 8}, {}, {9}}));
}

}  // namespace
}  // namespace espalier::partition
