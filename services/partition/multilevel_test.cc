// Tests of the parts of the algorithm Multilevel, and of the whole on graphs that are large enough to be coarsened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "services/partition/cluster_vertices.h"
#include "services/partition/label_sums.h"
#include "services/partition/partitioner.h"
#include "services/partition/quality.h"
#include "services/partition/refine_partitions.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partition/weighted_graph.h"

namespace espalier::partition {
namespace {

using testing::CommunityGraph;
using ::testing::ElementsAre;
using testing::GraphOf;
using testing::TypedGraph;
using ::testing::UnorderedElementsAre;

WeightedGraph Weighted(const graph::SourceGraph& graph, const std::vector<BalanceConstraint>& balance = {}) {
  VertexWeights weights = *MakeVertexWeights(graph, {.balance = balance});
  return {.adjacency = *MakeUndirectedGraph(graph, 1),
          .num_constraints = weights.num_constraints(),
          .vertex_weights = std::move(weights.weights)};
}

std::map<uint32_t, uint32_t> WeightByNeighbor(const WeightedGraph& graph, uint64_t vertex) {
  std::map<uint32_t, uint32_t> weights;
  for (uint64_t k = graph.adjacency.offsets[vertex]; k < graph.adjacency.offsets[vertex + 1]; ++k) {
    weights[graph.adjacency.neighbors[k]] = graph.adjacency.WeightAt(k);
  }
  return weights;
}

uint64_t CutWeight(const WeightedGraph& graph, const std::vector<uint32_t>& partition_of) {
  uint64_t cut = 0;
  for (uint64_t vertex = 0; vertex < graph.num_vertices(); ++vertex) {
    for (const auto& [neighbor, weight] : WeightByNeighbor(graph, vertex)) {
      if (partition_of[neighbor] != partition_of[vertex]) cut += weight;
    }
  }
  return cut;
}

Quality QualityBy(const Partitioner& partitioner, const graph::SourceGraph& graph, const PartitionOptions& options) {
  const auto parts = partitioner.Partition(graph, options);
  ESPALIER_CHECK(parts.ok()) << parts.status().ToString();
  return *MeasureQuality(graph, *parts, {.num_partitions = options.num_partitions, .train_split = options.train_split});
}

TEST(LabelSumsTest, SumsInInsertionOrderAndResets) {
  LabelSums sums;
  const auto added = [&](const std::vector<std::pair<uint32_t, uint32_t>>& given) {
    sums.Reset(given.size());
    for (const auto& [label, weight] : given) sums.Add(label, weight);
    std::vector<std::pair<uint32_t, uint32_t>> all;
    sums.ForEach([&](uint32_t label, uint32_t sum) { all.emplace_back(label, sum); });
    return all;
  };
  EXPECT_THAT(added({{7, 1}, {3, 2}, {7, 5}}), ElementsAre(std::pair(7, 6), std::pair(3, 2)));
  std::vector<std::pair<uint32_t, uint32_t>> many;
  for (uint32_t i = 0; i < 1000; ++i) many.emplace_back(i * 64, i + 1);
  EXPECT_EQ(added(many), many);
  EXPECT_THAT(added({{64, 1}}), ElementsAre(std::pair(64, 1)));
  EXPECT_THAT(added({{5, ~uint32_t{0}}, {5, 2}}), ElementsAre(std::pair(5, ~uint32_t{0})));
}

// 0 - 1 - 2    3 - 4    5    with two edges between 1 and 2, and one between 0 and 4.
TEST(ContractTest, SumsUpWeightsOfVerticesAndEdges) {
  const WeightedGraph graph =
      Weighted(GraphOf(6, {{0, 1}, {1, 2}, {2, 1}, {3, 4}, {0, 4}}), {BalanceConstraint::kEdges});
  std::vector<uint32_t> clusters = {4, 4, 2, 0, 0, 5};
  ASSERT_EQ(NumberClusters(&clusters), 4u);
  EXPECT_THAT(clusters, ElementsAre(2, 2, 1, 0, 0, 3));
  for (const int threads : {1, 4}) {
    const WeightedGraph coarse = Contract(graph, clusters, 4, threads);
    ASSERT_EQ(coarse.num_vertices(), 4u);
    EXPECT_THAT(coarse.vertex_weights, ElementsAre(2, 2, 1, 1, 2, 2, 1, 0));  // nodes and in-edges by cluster
    EXPECT_THAT(WeightByNeighbor(coarse, 0), UnorderedElementsAre(std::pair(2, 1)));
    EXPECT_THAT(WeightByNeighbor(coarse, 1), UnorderedElementsAre(std::pair(2, 2)));
    EXPECT_THAT(WeightByNeighbor(coarse, 2), UnorderedElementsAre(std::pair(0, 1), std::pair(1, 2)));
    EXPECT_THAT(WeightByNeighbor(coarse, 3), UnorderedElementsAre());
  }
}

TEST(ContractTest, KeepsTheCut) {
  const WeightedGraph graph = Weighted(CommunityGraph(8, 200, 6, 2, /*seed=*/3));
  std::vector<uint32_t> clusters = ClusterVertices(graph, {40}, /*key=*/5, /*threads=*/2);
  const uint32_t num_clusters = NumberClusters(&clusters);
  const WeightedGraph coarse = Contract(graph, clusters, num_clusters, /*threads=*/2);
  std::vector<uint32_t> parts(num_clusters), fine_parts(graph.num_vertices());
  for (uint32_t c = 0; c < num_clusters; ++c) parts[c] = c % 3;
  for (uint64_t v = 0; v < graph.num_vertices(); ++v) fine_parts[v] = parts[clusters[v]];
  EXPECT_GT(CutWeight(coarse, parts), 0u);
  EXPECT_EQ(CutWeight(coarse, parts), CutWeight(graph, fine_parts));
}

TEST(ClusterVerticesTest, KeepsLimitsAndShrinksTheGraph) {
  const WeightedGraph graph = Weighted(CommunityGraph(8, 500, 6, 1, /*seed=*/1), {BalanceConstraint::kEdges});
  const std::vector<int64_t> limits = {30, 500};
  std::vector<uint32_t> clusters = ClusterVertices(graph, limits, /*key=*/1, /*threads=*/1);
  EXPECT_EQ(clusters, ClusterVertices(graph, limits, /*key=*/1, /*threads=*/3));
  EXPECT_NE(clusters, ClusterVertices(graph, limits, /*key=*/2, /*threads=*/1));
  const uint32_t num_clusters = NumberClusters(&clusters);
  EXPECT_LT(num_clusters, 4000u / 4);
  const WeightedGraph coarse = Contract(graph, clusters, num_clusters, /*threads=*/1);
  for (uint32_t c = 0; c < num_clusters; ++c) {
    EXPECT_LE(coarse.WeightsAt(c)[0], limits[0]);
    EXPECT_LE(coarse.WeightsAt(c)[1], limits[1]);
  }
}

// All leaves prefer the cluster of the hub, which has room for few of them; isolated vertices prefer none.
TEST(ClusterVerticesTest, MergesTheLeavesOfAStarAndIsolatedVertices) {
  testing::Edges star;
  for (uint32_t leaf = 1; leaf < 2000; ++leaf) star.push_back({leaf, 0});
  for (const uint64_t num_vertices : {2000, 5000}) {
    std::vector<uint32_t> clusters =
        ClusterVertices(Weighted(GraphOf(num_vertices, star)), {50}, /*key=*/1, /*threads=*/2);
    const uint32_t num_clusters = NumberClusters(&clusters);
    EXPECT_LE(num_clusters, num_vertices / 50 + 3);
    std::vector<int> sizes(num_clusters, 0);
    for (const uint32_t cluster : clusters) ++sizes[cluster];
    EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 50);
  }
}

TEST(RefinePartitionsTest, FindsTheCommunitiesAgainAfterSomeVerticesWereMisplaced) {
  const WeightedGraph graph = Weighted(CommunityGraph(4, 250, 8, 1, /*seed=*/1));
  std::vector<uint32_t> parts(1000);
  for (uint32_t v = 0; v < 1000; ++v) parts[v] = v % 4;
  const uint64_t planted = CutWeight(graph, parts);
  for (uint32_t v = 0; v < 1000; v += 10) parts[v] = (parts[v] + 1) % 4;
  const std::vector<uint64_t> totals = {1000};
  std::vector<uint32_t> by_four = parts;
  RefinePartitions(graph, PartitionCapacities(totals, 4), 4, /*key=*/1, /*threads=*/1, &parts);
  RefinePartitions(graph, PartitionCapacities(totals, 4), 4, /*key=*/1, /*threads=*/4, &by_four);
  EXPECT_EQ(parts, by_four);
  EXPECT_LE(static_cast<double>(CutWeight(graph, parts)), 1.02 * static_cast<double>(planted));
}

TEST(RefinePartitionsTest, RelievesAnOverloadedPartition) {
  const WeightedGraph graph = Weighted(CommunityGraph(4, 250, 8, 1, /*seed=*/1));
  std::vector<uint32_t> parts(1000, 0);  // all in one partition
  RefinePartitions(graph, std::vector<int64_t>{257}, 4, /*key=*/1, /*threads=*/2, &parts);
  for (uint32_t partition = 0; partition < 4; ++partition) {
    EXPECT_LE(std::count(parts.begin(), parts.end(), partition), 257) << partition;
  }
}

// Moves of single vertices reach the capacities of two constraints only nearly, because none exchanges two vertices.
TEST(RefinePartitionsTest, RelievesAnOverloadedPartitionUnderEveryConstraint) {
  const graph::SourceGraph source = CommunityGraph(4, 250, 8, 1, /*seed=*/1);
  const WeightedGraph graph = Weighted(source, {BalanceConstraint::kEdges});
  std::vector<uint32_t> parts(1000, 0);  // all in one partition
  const std::vector<uint64_t> totals = {1000, source.edges[0].num_edges()};
  const std::vector<int64_t> capacities = PartitionCapacities(totals, 4);
  EXPECT_EQ(capacities[0], 257);
  RefinePartitions(graph, capacities, 4, /*key=*/1, /*threads=*/2, &parts);
  std::vector<int64_t> nodes(4, 0), edges(4, 0);
  for (uint32_t v = 0; v < 1000; ++v) {
    nodes[parts[v]] += graph.WeightsAt(v)[0];
    edges[parts[v]] += graph.WeightsAt(v)[1];
  }
  EXPECT_LE(*std::max_element(nodes.begin(), nodes.end()), 1.06 * 250);
  EXPECT_LE(static_cast<double>(*std::max_element(edges.begin(), edges.end())),
            1.06 * static_cast<double>(totals[1]) / 4);
}

// The graphs of these tests have more vertices than METIS cuts at once, so they are coarsened first.
class CoarsenedGraphTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Partitioner> multilevel_ = MakeMultilevelPartitioner();
};

TEST_F(CoarsenedGraphTest, DoesNotDependOnTheNumberOfThreads) {
  const graph::SourceGraph graph = CommunityGraph(10, 3000, 5, 2, /*seed=*/1);
  const auto parts = [&](int threads) {
    return *multilevel_->Partition(
        graph, {.num_partitions = 4, .balance = {BalanceConstraint::kEdges}, .seed = 7, .threads = threads});
  };
  const Assignment once = parts(1);
  EXPECT_EQ(once, parts(2));
  EXPECT_EQ(once, parts(5));
}

TEST_F(CoarsenedGraphTest, CutsPlantedCommunitiesAsWellAsMetis) {
  const graph::SourceGraph graph = CommunityGraph(20, 1500, 8, 2, /*seed=*/1);
  for (const uint32_t num_partitions : {2u, 5u}) {
    const PartitionOptions options{.num_partitions = num_partitions, .balance = {BalanceConstraint::kEdges}, .seed = 1};
    const Quality multilevel = QualityBy(*multilevel_, graph, options);
    const Quality metis = QualityBy(*MakeMetisPartitioner(), graph, options);
    EXPECT_LE(multilevel.cut_ratio, 1.03 * metis.cut_ratio) << num_partitions;
    EXPECT_LE(multilevel.balance.at("nodes"), 1.031) << num_partitions;
    EXPECT_LE(multilevel.balance.at("edges"), 1.031) << num_partitions;
  }
}

TEST_F(CoarsenedGraphTest, BalancesTypesAndTrainingNodes) {
  const graph::SourceGraph graph = TypedGraph(8000, /*seed=*/1);
  const Quality quality =
      QualityBy(*multilevel_, graph,
                {.num_partitions = 4,
                 .balance = {BalanceConstraint::kNodeTypes, BalanceConstraint::kTrainNodes, BalanceConstraint::kEdges},
                 .train_split = "public",
                 .seed = 1});
  for (const auto& [constraint, balance] : quality.balance) {
    if (constraint == "nodes" || constraint == "nodes:author" || constraint == "nodes:paper" || constraint == "edges") {
      EXPECT_LE(balance, 1.04) << constraint;
    }
  }
  EXPECT_LE(quality.balance.at("train-nodes"), 1.15);
}

TEST_F(CoarsenedGraphTest, TakesAStarAndNodesWithoutEdges) {
  testing::Edges star;
  for (uint32_t leaf = 1; leaf < 30000; ++leaf) star.push_back({leaf, 0});
  for (const uint64_t num_nodes : {30000, 60000}) {
    const Quality quality = QualityBy(*multilevel_, GraphOf(num_nodes, star), {.num_partitions = 4, .seed = 1});
    EXPECT_LE(quality.balance.at("nodes"), 1.031);
  }
  EXPECT_LE(QualityBy(*multilevel_, GraphOf(50000, {}), {.num_partitions = 4, .seed = 1}).balance.at("nodes"), 1.031);
}

// Two halves without an edge between them.
TEST_F(CoarsenedGraphTest, SeparatesComponents) {
  testing::Edges edges;
  const graph::SourceGraph half = CommunityGraph(1, 15000, 6, 0, /*seed=*/1);
  const auto sources = half.edges[0].sources.values<uint32_t>(),
             destinations = half.edges[0].destinations.values<uint32_t>();
  for (size_t edge = 0; edge < sources.size(); ++edge) {
    edges.push_back({2 * sources[edge], 2 * destinations[edge]});
    edges.push_back({2 * sources[edge] + 1, 2 * destinations[edge] + 1});
  }
  EXPECT_EQ(QualityBy(*multilevel_, GraphOf(30000, edges), {.num_partitions = 2, .seed = 1}).cut_edges, 0u);
}

}  // namespace
}  // namespace espalier::partition
