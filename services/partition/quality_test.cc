#include "services/partition/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {
namespace {

using testing::GraphOf;
using ::testing::HasSubstr;
using testing::TypedGraph;

// 0 -> 2 and 1 -> 2 cross from partition 0 to 1, and so does a second 0 -> 3; 2 -> 3 stays.
TEST(QualityTest, CountsCutEdges) {
  graph::SourceGraph graph = GraphOf(4, {{0, 2}, {1, 2}, {0, 3}, {2, 3}});
  graph.splits["public"][0].train = {0, 1, 2};
  const Quality quality = *MeasureQuality(graph, {{0, 0, 1, 1}}, {.num_partitions = 2});
  EXPECT_EQ(quality.cut_edges, 3u);
  EXPECT_DOUBLE_EQ(quality.cut_ratio, 0.75);
  EXPECT_DOUBLE_EQ(quality.replication, 1.5);  // partition 1 also reads 0 and 1
  EXPECT_DOUBLE_EQ(quality.balance.at("nodes"), 1.0);
  EXPECT_DOUBLE_EQ(quality.balance.at("edges"), 2.0);
  EXPECT_DOUBLE_EQ(quality.balance.at("train-nodes"), 4.0 / 3);
  EXPECT_EQ(quality.balance.size(), 3u);  // one node type: no "nodes:node"
}

TEST(QualityTest, CountsNeighborsAsSetsDo) {
  const graph::SourceGraph graph = TypedGraph(200, /*seed=*/1);
  const Assignment assignment = *MakeRandomPartitioner()->Partition(graph, {.num_partitions = 7, .seed = 1});
  std::set<std::tuple<uint32_t, uint16_t, int64_t>> read;  // reading partition, type, node
  uint64_t cut = 0, edges = 0;
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const uint16_t source_type = graph.schema.SourceOf(EdgeTypeId(type)).value;
    const uint16_t destination_type = graph.schema.DestinationOf(EdgeTypeId(type)).value;
    for (int64_t i = 0; i < graph.edges[type].sources.num_rows(); ++i, ++edges) {
      const int64_t source = graph.edges[type].sources.ValueAsInt(i);
      const int64_t destination = graph.edges[type].destinations.ValueAsInt(i);
      const uint32_t owner = assignment[destination_type][static_cast<size_t>(destination)];
      if (assignment[source_type][static_cast<size_t>(source)] == owner) continue;
      ++cut;
      read.insert({owner, source_type, source});
    }
  }
  // Bitmaps for all partitions, one partition and a few partitions per pass; one thread and several.
  for (const uint64_t bitmap_bytes : {uint64_t{1} << 20, uint64_t{1}, uint64_t{300}}) {
    for (const int threads : {1, 3}) {
      const Quality quality =
          *MeasureQuality(graph, assignment, {.num_partitions = 7, .threads = threads, .bitmap_bytes = bitmap_bytes});
      EXPECT_EQ(quality.cut_edges, cut);
      EXPECT_DOUBLE_EQ(quality.cut_ratio, static_cast<double>(cut) / static_cast<double>(edges));
      EXPECT_DOUBLE_EQ(quality.replication, (800.0 + static_cast<double>(read.size())) / 800.0);
    }
  }
}

TEST(QualityTest, CountsATrainingNodeOfTwoSplitsOnce) {
  graph::SourceGraph graph = GraphOf(2, {});
  graph.splits["a"][0].train = {0};
  graph.splits["b"][0].train = {0, 1};
  EXPECT_DOUBLE_EQ(MeasureQuality(graph, {{0, 1}}, {.num_partitions = 2})->balance.at("train-nodes"), 1.0);
  EXPECT_DOUBLE_EQ(
      MeasureQuality(graph, {{0, 1}}, {.num_partitions = 2, .train_split = "a"})->balance.at("train-nodes"), 2.0);
}

TEST(QualityTest, IsZeroForEmptyGraphs) {
  const Quality quality = *MeasureQuality(GraphOf(0, {}), {{}}, {.num_partitions = 3});
  EXPECT_EQ(quality, Quality());
}

TEST(QualityTest, RefusesAnAssignmentOfAnotherGraph) {
  EXPECT_THAT(MeasureQuality(GraphOf(2, {}), {{0, 0, 0}}, {.num_partitions = 1}).status().message(),
              HasSubstr("3 rows"));
}

}  // namespace
}  // namespace espalier::partition
