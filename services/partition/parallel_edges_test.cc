#include "services/partition/parallel_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "services/partition/build_partition.h"
#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {
namespace {

using ::testing::ElementsAre;

// Two owned nodes: node 0 has in-edges 3, 4 and 6 from node 7 and 1 from node 9, node 1 has in-edge 2 from node 7.
const graph::InEdges kParallel = {.indptr = Tensor::FromVector<uint32_t>({0, 4, 5}),
                                  .indices = Tensor::FromVector<uint32_t>({7, 9, 7, 7, 7})};
const Tensor kParallelIds = Tensor::FromVector<uint32_t>({3, 1, 4, 6, 2});

// Returns the positions for (source, destination, edge) triples.
Tensor PositionsOf(const std::vector<std::tuple<uint64_t, uint32_t, uint64_t>>& pairs) {
  std::vector<uint64_t> sources, edge_ids;
  std::vector<uint32_t> destinations;
  for (const auto& [source, destination, edge] : pairs) {
    sources.push_back(source);
    destinations.push_back(destination);
    edge_ids.push_back(edge);
  }
  return FindSelectedPositions(kParallel, kParallelIds,
                               {.sources = sources, .destinations = destinations, .edge_ids = edge_ids});
}

TEST(SelectedPositionsTest, SelectAmongParallelEdgesOnly) {
  const Tensor positions = PositionsOf({{7, 0, 4}, {9, 0, 1}, {7, 1, 2}, {7, 0, 6}, {7, 0, 8}, {8, 0, 0}, {7, 0, 4}});
  EXPECT_THAT(positions.values<uint32_t>(), ElementsAre(2, 5, 5, 3, 5, 5, 2));
}

TEST(SelectedPositionsTest, AreEmptyIfEndpointsAreUnique) {
  EXPECT_TRUE(PositionsOf({{9, 0, 1}, {7, 1, 2}, {8, 0, 0}}).empty());
  EXPECT_TRUE(PositionsOf({{7, 0, 8}, {7, 0, 9}}).empty());  // such edges have been dropped
  EXPECT_TRUE(PositionsOf({}).empty());
}

// The split contains every citation; some papers cite another paper several times.
TEST(SelectedPositionsTest, MatchInputEdgesInEveryPartition) {
  graph::SourceGraph source = testing::TypedGraph(20, /*seed=*/1);
  const EdgeTypeId cites = *source.schema.FindEdgeType("cites");
  const graph::EdgeSet& edges = source.edges_of(cites);
  graph::EdgePairs& train = source.edge_splits["all"][cites.value].train;
  std::map<std::pair<uint64_t, uint64_t>, int> num_edges;
  for (int64_t row = 0; row < static_cast<int64_t>(edges.num_edges()); ++row) {
    train.sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(row)));
    train.destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(row)));
    train.edge_ids.push_back(static_cast<uint64_t>(row));
    ++num_edges[{train.sources.ids().back(), train.destinations.ids().back()}];
  }
  for (const uint32_t num_partitions : {1u, 3u}) {
    const auto assignment = MakeRandomPartitioner()->Partition(source, {.num_partitions = num_partitions, .seed = 3});
    ASSERT_TRUE(assignment.ok()) << assignment.status().ToString();
    const auto set = BuildAllPartitions(source, *assignment, num_partitions, {.threads = 1});
    ASSERT_TRUE(set.ok()) << set.status().ToString();
    int64_t num_said = 0, num_several = 0;
    for (const auto& [ends, count] : num_edges) num_several += count > 1 ? count : 0;
    for (const graph::Partition& partition : set->partitions) {
      const graph::EdgeSplitPart& part = partition.edge_splits.at("all").at(cites.value)[0];
      const Tensor& ids = partition.original_edge_ids[cites.value];
      for (int64_t i = 0; i < part.positions.num_rows(); ++i) {
        if (part.positions.ValueAsInt(i) == ids.num_rows()) continue;
        ++num_said;
        EXPECT_EQ(ids.ValueAsInt(part.positions.ValueAsInt(i)), part.ordinals.ValueAsInt(i));  // row i has ordinal i
      }
    }
    EXPECT_GT(num_several, 0);
    EXPECT_EQ(num_said, num_several);
  }
}

}  // namespace
}  // namespace espalier::partition
