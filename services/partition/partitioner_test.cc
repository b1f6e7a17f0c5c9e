// Tests of the properties that all algorithms share, then of each algorithm's purpose.
#include "services/partition/partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <thread>

#include "services/partition/metis_partitioner.h"
#include "services/partition/quality.h"
#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {

namespace {

using ::testing::AllOf;
using testing::CommunityGraph;
using testing::GraphOf;
using testing::GridGraph;
using testing::GridOfStrongRows;
using ::testing::HasSubstr;
using testing::TypedGraph;

Quality QualityWith(const graph::SourceGraph& graph, const Assignment& assignment, uint32_t num_partitions) {
  return *MeasureQuality(graph, assignment, {.num_partitions = num_partitions});
}

using ChoosesNode = bool (*)(uint64_t node);
// Select the left half of a grid of 40 columns, and the first community of CommunityGraph(2, ...).
bool InLeftHalf(uint64_t node) { return node % 40 < 20; }
bool InFirstOfTwoCommunities(uint64_t node) { return node % 2 == 0; }

// Returns the graph (of one type) with `loops` self loops added at each chosen node. These in-edges are never cut.
graph::SourceGraph WithLoops(const graph::SourceGraph& graph, int loops, ChoosesNode chosen) {
  testing::Edges edges;
  const auto sources = graph.edges[0].sources.values<uint32_t>();
  const auto destinations = graph.edges[0].destinations.values<uint32_t>();
  for (size_t edge = 0; edge < sources.size(); ++edge) edges.push_back({sources[edge], destinations[edge]});
  for (uint32_t node = 0; node < graph.nodes[0].count; ++node) {
    for (int i = 0; chosen(node) && i < loops; ++i) edges.push_back({node, node});
  }
  return GraphOf(graph.nodes[0].count, edges);
}

// Returns the graph (of one type) with the chosen nodes as type "left" and the others as type "right".
graph::SourceGraph InTwoTypes(const graph::SourceGraph& graph, ChoosesNode is_left) {
  graph::SourceGraph typed;
  typed.schema = *graph::GraphSchema::Make(
      {"left", "right"},
      {{"left", "to", "left"}, {"left", "to", "right"}, {"right", "to", "left"}, {"right", "to", "right"}});
  typed.nodes.resize(2);
  std::vector<uint32_t> id_of;
  for (uint64_t node = 0; node < graph.nodes[0].count; ++node) {
    id_of.push_back(static_cast<uint32_t>(typed.nodes[is_left(node) ? 0u : 1u].count++));
  }
  std::vector<std::vector<uint32_t>> from(4), to(4);  // by edge type
  const auto sources = graph.edges[0].sources.values<uint32_t>();
  const auto destinations = graph.edges[0].destinations.values<uint32_t>();
  for (size_t edge = 0; edge < sources.size(); ++edge) {
    const size_t type = (is_left(sources[edge]) ? 0u : 2u) + (is_left(destinations[edge]) ? 0u : 1u);
    from[type].push_back(id_of[sources[edge]]);
    to[type].push_back(id_of[destinations[edge]]);
  }
  for (size_t type = 0; type < from.size(); ++type) {
    graph::EdgeSet& edges = typed.edges.emplace_back();
    edges.sources = Tensor::FromVector(std::move(from[type]));
    edges.destinations = Tensor::FromVector(std::move(to[type]));
  }
  return typed;
}

// Returns the largest partition divided by the average, for two partitions that are cut under the constraints.
std::map<std::string, double> BalanceBy(const Partitioner& partitioner, const graph::SourceGraph& graph,
                                        const std::vector<BalanceConstraint>& constraints) {
  const auto parts = partitioner.Partition(graph, {.num_partitions = 2, .balance = constraints, .seed = 1});
  ESPALIER_CHECK(parts.ok()) << parts.status().ToString();
  return QualityWith(graph, *parts, 2).balance;
}

struct Algorithm {
  const char* name;
  std::function<std::unique_ptr<Partitioner>()> make;
};
class PartitionerTest : public ::testing::TestWithParam<Algorithm> {
 protected:
  Assignment Partition(const graph::SourceGraph& graph, const PartitionOptions& options) {
    const Result<Assignment> assignment = GetParam().make()->Partition(graph, options);
    EXPECT_TRUE(assignment.ok()) << assignment.status().ToString();
    return assignment.ok() ? *assignment : Assignment();
  }
};

void ExpectValid(const graph::SourceGraph& graph, const Assignment& assignment, uint32_t num_partitions) {
  ASSERT_EQ(assignment.size(), graph.nodes.size());
  for (size_t type = 0; type < assignment.size(); ++type) {
    ASSERT_EQ(assignment[type].size(), graph.nodes[type].count);
    for (const uint32_t partition : assignment[type]) ASSERT_LT(partition, num_partitions);
  }
}

TEST_P(PartitionerTest, HasTheNameOfTheJobDocument) { EXPECT_STREQ(GetParam().make()->name(), GetParam().name); }

TEST_P(PartitionerTest, IsTheSameForAnyNumberOfThreadsAndDependsOnTheSeed) {
  const graph::SourceGraph graph = CommunityGraph(4, 500, 6, 2, /*seed=*/1);
  const Assignment once = Partition(graph, {.num_partitions = 4, .seed = 7, .threads = 1});
  EXPECT_EQ(once, Partition(graph, {.num_partitions = 4, .seed = 7, .threads = 4}));
  EXPECT_NE(once, Partition(graph, {.num_partitions = 4, .seed = 8, .threads = 1}));
}

TEST_P(PartitionerTest, ConcurrentRunsGiveSameResult) {
  const graph::SourceGraph graph = CommunityGraph(4, 500, 6, 2, /*seed=*/1);
  const Assignment alone = Partition(graph, {.num_partitions = 4, .seed = 7});
  std::vector<Assignment> together(4);
  {
    std::vector<std::jthread> threads;
    for (Assignment& assignment : together) {
      threads.emplace_back(
          [&] { assignment = *GetParam().make()->Partition(graph, {.num_partitions = 4, .seed = 7}); });
    }
  }
  for (const Assignment& assignment : together) EXPECT_EQ(assignment, alone);
}

TEST_P(PartitionerTest, BalancesNodes) {
  const graph::SourceGraph graph = CommunityGraph(5, 300, 5, 1, /*seed=*/1);
  for (const uint32_t num_partitions : {2u, 3u, 8u}) {
    const Assignment assignment = Partition(graph, {.num_partitions = num_partitions, .seed = 1});
    ExpectValid(graph, assignment, num_partitions);
    EXPECT_LE(QualityWith(graph, assignment, num_partitions).balance.at("nodes"), 1.04) << num_partitions;
  }
}

TEST_P(PartitionerTest, BalancesEachNodeType) {
  const graph::SourceGraph graph = TypedGraph(400, /*seed=*/1);
  const Assignment assignment =
      Partition(graph, {.num_partitions = 4, .balance = {BalanceConstraint::kNodeTypes}, .seed = 1});
  const Quality quality = QualityWith(graph, assignment, 4);
  EXPECT_LE(quality.balance.at("nodes:author"), 1.06);
  EXPECT_LE(quality.balance.at("nodes:paper"), 1.06);
  EXPECT_FALSE(quality.balance.contains("nodes:venue"));  // has no nodes
}

TEST_P(PartitionerTest, PutsEverythingIntoOnePartition) {
  const graph::SourceGraph graph = TypedGraph(20, /*seed=*/1);
  const Assignment assignment = Partition(graph, {.num_partitions = 1});
  ExpectValid(graph, assignment, 1);
  EXPECT_EQ(QualityWith(graph, assignment, 1).cut_edges, 0u);
}

TEST_P(PartitionerTest, TakesMorePartitionsThanNodes) {
  const graph::SourceGraph graph = GridGraph(1, 3);
  const Assignment assignment = Partition(graph, {.num_partitions = 8, .seed = 1});
  ExpectValid(graph, assignment, 8);
  EXPECT_EQ(std::set<uint32_t>(assignment[0].begin(), assignment[0].end()).size(), 3u);
}

TEST_P(PartitionerTest, TakesAlmostAsManyPartitionsAsNodes) {
  const graph::SourceGraph graph = GridGraph(2, 5);
  for (const uint32_t num_partitions : {5u, 7u, 9u, 10u}) {
    ExpectValid(graph, Partition(graph, {.num_partitions = num_partitions, .seed = 1}), num_partitions);
  }
}

TEST_P(PartitionerTest, TakesIsolatedNodesAndGraphsWithoutEdges) {
  const graph::SourceGraph lonely = GraphOf(100, {});
  const Assignment spread = Partition(lonely, {.num_partitions = 4, .balance = {BalanceConstraint::kEdges}, .seed = 1});
  ExpectValid(lonely, spread, 4);
  EXPECT_LE(QualityWith(lonely, spread, 4).balance.at("nodes"), 1.08);

  const graph::SourceGraph mostly_lonely = GraphOf(1000, {{0, 1}, {1, 2}, {2, 0}, {3, 3}});
  ExpectValid(mostly_lonely, Partition(mostly_lonely, {.num_partitions = 4, .seed = 1}), 4);
}

TEST_P(PartitionerTest, TakesAGraphWithoutNodes) {
  ExpectValid(GraphOf(0, {}), Partition(GraphOf(0, {}), {.num_partitions = 2}), 2);
}

// Constraints without effect are not errors: the graph has no training nodes and only one node type.
TEST_P(PartitionerTest, TakesConstraintsThatDoNotBind) {
  const graph::SourceGraph graph = GridGraph(10, 10);
  const Assignment assignment = Partition(
      graph, {.num_partitions = 2,
              .balance = {BalanceConstraint::kNodeTypes, BalanceConstraint::kEdges, BalanceConstraint::kTrainNodes},
              .seed = 1});
  ExpectValid(graph, assignment, 2);
}

TEST_P(PartitionerTest, TakesEveryConstraintAndObjective) {
  const graph::SourceGraph graph = TypedGraph(300, /*seed=*/1);
  const Assignment assignment = Partition(
      graph, {.num_partitions = 3,
              .objective = Objective::kCommunicationVolume,
              .balance = {BalanceConstraint::kNodeTypes, BalanceConstraint::kEdges, BalanceConstraint::kTrainNodes},
              .train_split = "public",
              .seed = 1});
  ExpectValid(graph, assignment, 3);
  for (const auto& [constraint, balance] : QualityWith(graph, assignment, 3).balance) {
    EXPECT_LE(balance, 1.15) << constraint;
  }
}

TEST_P(PartitionerTest, RefusesNoPartitionsAtAll) {
  EXPECT_EQ(GetParam().make()->Partition(GridGraph(2, 2), {.num_partitions = 0}).status().code(),
            StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PartitionerTest,
                         ::testing::Values(Algorithm{"METIS", MakeMetisPartitioner},
                                           Algorithm{"Multilevel", MakeMultilevelPartitioner},
                                           Algorithm{"Random", MakeRandomPartitioner},
                                           Algorithm{"Streaming", MakeStreamingPartitioner}),
                         [](const auto& algorithm) { return std::string(algorithm.param.name); });

// 0-1-2-...-9     The cheapest balanced cut in two parts is the
// | | |     |     pair of edges in the middle, both directions of each.
// 10- ...  -19
TEST(MetisPartitionerTest, CutsAGridDownTheMiddle) {
  const graph::SourceGraph grid = GridGraph(2, 10);
  for (const Objective objective : {Objective::kEdgeCut, Objective::kCommunicationVolume}) {
    const Assignment parts =
        *MakeMetisPartitioner()->Partition(grid, {.num_partitions = 2, .objective = objective, .seed = 1});
    const Quality quality = QualityWith(grid, parts, 2);
    EXPECT_EQ(quality.cut_edges, 4u);
    EXPECT_DOUBLE_EQ(quality.balance.at("nodes"), 1.0);
    EXPECT_EQ(parts[0][0], parts[0][10]);
    EXPECT_NE(parts[0][0], parts[0][9]);
  }
}

// Between two rows: 2 x 24 edges and 48 nodes at the cut. Across the rows: 2 x 10 x 8 edges and 16 nodes.
TEST(MetisPartitionerTest, MinimizesRequestedObjective) {
  const graph::SourceGraph grid = GridOfStrongRows(8, 24);
  const auto quality_by = [&](Objective objective) {
    return QualityWith(
        grid, *MakeMetisPartitioner()->Partition(grid, {.num_partitions = 2, .objective = objective, .seed = 1}), 2);
  };
  const Quality edge_cut = quality_by(Objective::kEdgeCut), volume = quality_by(Objective::kCommunicationVolume);
  EXPECT_LT(edge_cut.cut_edges, volume.cut_edges);
  EXPECT_LT(volume.replication, edge_cut.replication);
}

TEST(MetisPartitionerTest, FindsPlantedCommunities) {
  const graph::SourceGraph graph = CommunityGraph(4, 250, 8, 1, /*seed=*/1);
  const Assignment parts = *MakeMetisPartitioner()->Partition(graph, {.num_partitions = 4, .seed = 1});
  EXPECT_LT(QualityWith(graph, parts, 4).cut_ratio, 0.1);  // 3 of 4 of the edges across: 1/9 * 3/4
}

// All training nodes are in the left half of the grid, so a cut down the middle would assign them to one partition.
TEST(MetisPartitionerTest, BalancesTrainingNodesOfTheNamedSplit) {
  graph::SourceGraph grid = GridGraph(20, 40);
  for (uint64_t node = 0; node < 800; ++node) {
    if (node % 40 < 20) grid.splits["left"][0].train.push_back(node);
  }
  const PartitionOptions options{
      .num_partitions = 2, .balance = {BalanceConstraint::kTrainNodes}, .train_split = "left", .seed = 1};
  for (const auto& make : {MakeMetisPartitioner, MakeMultilevelPartitioner, MakeStreamingPartitioner}) {
    const Quality quality = QualityWith(grid, *make()->Partition(grid, options), 2);
    EXPECT_LE(quality.balance.at("train-nodes"), 1.05);
    EXPECT_LE(quality.balance.at("nodes"), 1.05);
  }
}

// Without the constraint the cut is down the middle, and one partition has most of the edges.
TEST(MetisPartitionerTest, BalancesInEdges) {
  const graph::SourceGraph grid = WithLoops(GridGraph(20, 40), 10, InLeftHalf);
  const auto edges_by = [&](const std::vector<BalanceConstraint>& balance) {
    return BalanceBy(*MakeMetisPartitioner(), grid, balance).at("edges");
  };
  EXPECT_GT(edges_by({}), 1.3);
  EXPECT_LE(edges_by({BalanceConstraint::kEdges}), 1.1);
}

// The nodes of the two types are the two halves that a cut down the middle separates.
TEST(MetisPartitionerTest, BalancesNodeTypesThatACutWouldSeparate) {
  const graph::SourceGraph grid = InTwoTypes(GridGraph(20, 40), InLeftHalf);
  const auto left_by = [&](const std::vector<BalanceConstraint>& balance) {
    return BalanceBy(*MakeMetisPartitioner(), grid, balance).at("nodes:left");
  };
  EXPECT_GT(left_by({}), 1.3);
  EXPECT_LE(left_by({BalanceConstraint::kNodeTypes}), 1.1);
}

TEST(MetisPartitionerTest, NamesASplitThatDoesNotExist) {
  graph::SourceGraph grid = GridGraph(2, 4);
  grid.splits["public"][0].train = {0};
  const Status refused =
      MakeMetisPartitioner()
          ->Partition(grid, {.num_partitions = 2, .balance = {BalanceConstraint::kTrainNodes}, .train_split = "privat"})
          .status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("'privat', it has: public"));
}

TEST(MetisPartitionerTest, TakesManyNodeTypesAsConstraints) {
  constexpr uint32_t kTypes = 24;
  graph::SourceGraph graph;
  std::vector<std::string> names;
  for (uint32_t type = 0; type < kTypes; ++type) names.push_back("t" + std::to_string(100 + type));
  graph.schema = *graph::GraphSchema::Make(names, {{"t100", "to", "t101"}});
  graph.nodes.resize(kTypes);
  for (graph::NodeSet& nodes : graph.nodes) nodes.count = 50;
  graph.edges.push_back(CommunityGraph(5, 10, 2, 1, /*seed=*/1).edges[0]);
  const auto parts = MakeMetisPartitioner()->Partition(
      graph, {.num_partitions = 2, .balance = {BalanceConstraint::kNodeTypes}, .seed = 1});
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  ExpectValid(graph, *parts, 2);
}

TEST(MetisPartitionerTest, NamesTheAlternativeWhereTheGraphIsTooLarge) {
  const uint64_t too_many = uint64_t{1} << 31;
  for (const MetisSize& size :
       {MetisSize{.num_vertices = too_many}, MetisSize{.num_vertices = 1, .num_neighbors = too_many},
        MetisSize{.num_vertices = 1, .total_edge_weight = too_many},
        MetisSize{.num_vertices = too_many / 2, .num_constraints = 2}}) {
    const Status refused = CheckFitsMetis(size);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("Streaming"));
  }
  EXPECT_TRUE(CheckFitsMetis({.num_vertices = too_many - 1, .num_neighbors = too_many - 1}).ok());
  const std::vector<uint64_t> totals = {7, too_many};
  const Status refused = CheckTotalsFitMetis({"nodes", "edges"}, totals);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("Streaming"),
                                       HasSubstr("2147483648 as the total weight of the balance constraint 'edges'")));
  EXPECT_TRUE(CheckTotalsFitMetis({"nodes"}, {totals.data(), 1}).ok());
}

TEST(MetisPartitionerTest, RefusesTooLargeGraphsByDegrees) {
  constexpr uint64_t kMax = (uint64_t{1} << 31) - 1;
  EXPECT_TRUE(CheckMayFitMetis(kMax, 1).ok());
  EXPECT_TRUE(CheckMayFitMetis(0, 0).ok());         // no edges
  EXPECT_TRUE(CheckMayFitMetis(2 * kMax, 2).ok());  // each edge is stored in both directions
  EXPECT_TRUE(CheckMayFitMetis(6 * kMax, 12).ok());
  for (const auto& [sum, divisor] : {std::pair(kMax + 1, uint64_t{1}), {2 * kMax + 2, 2}, {7 * kMax, 6}}) {
    const Status refused = CheckMayFitMetis(sum, divisor);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), AllOf(HasSubstr(std::to_string(sum)), HasSubstr("Streaming")));
  }
}

TEST(MetisPartitionerTest, RefusesEdgesToNodesThatDoNotExist) {
  for (const auto& make : {MakeMetisPartitioner, MakeMultilevelPartitioner, MakeStreamingPartitioner}) {
    const Status refused = make()->Partition(GraphOf(3, {{0, 1}, {2, 3}}), {.num_partitions = 2}).status();
    EXPECT_EQ(refused.code(), StatusCode::kOutOfRange);
    EXPECT_THAT(refused.message(), HasSubstr("edge 1: 2 -> 3"));
  }
}

TEST(StreamingPartitionerTest, CountsEveryNeighborOfEveryPass) {
  WorkMeter meter;
  ASSERT_TRUE(MakeStreamingPartitioner()->Partition(GridGraph(40, 40), {.num_partitions = 2, .meter = &meter}).ok());
  EXPECT_EQ(meter.done_bytes(), 6 * 4 * 2 * uint64_t{2 * 40 * 39});  // passes, bytes, ends, undirected edges
  EXPECT_EQ(meter.expected_bytes(), meter.done_bytes());
}

// Beyond 32 partitions, the best one is found among those of the neighbors.
TEST(StreamingPartitionerTest, FindsPlantedCommunitiesInManyPartitions) {
  const graph::SourceGraph graph = CommunityGraph(40, 50, 8, 1, /*seed=*/1);
  const PartitionOptions options{.num_partitions = 40, .seed = 1};
  const double streaming = QualityWith(graph, *MakeStreamingPartitioner()->Partition(graph, options), 40).cut_ratio;
  EXPECT_LT(streaming, 0.6);  // Random: 0.975
}

TEST(StreamingPartitionerTest, BeatsRandomClearlyOnPlantedCommunities) {
  const graph::SourceGraph graph = CommunityGraph(4, 500, 8, 1, /*seed=*/1);
  const PartitionOptions options{.num_partitions = 4, .seed = 1};
  const double streaming = QualityWith(graph, *MakeStreamingPartitioner()->Partition(graph, options), 4).cut_ratio;
  const double random = QualityWith(graph, *MakeRandomPartitioner()->Partition(graph, options), 4).cut_ratio;
  EXPECT_NEAR(random, 0.75, 0.03);
  EXPECT_LT(streaming, 0.5 * random);
}

TEST(StreamingPartitionerTest, BalancesInEdges) {
  graph::SourceGraph graph = CommunityGraph(4, 500, 8, 1, /*seed=*/1);
  const Assignment parts = *MakeStreamingPartitioner()->Partition(
      graph, {.num_partitions = 4, .balance = {BalanceConstraint::kEdges}, .seed = 1});
  const Quality quality = QualityWith(graph, parts, 4);
  EXPECT_LE(quality.balance.at("edges"), 1.04);
  EXPECT_LE(quality.balance.at("nodes"), 1.04);
}

// One of two communities has most of the edges. Without the constraint, its partition has most of the edges too.
TEST(StreamingPartitionerTest, BalancesTheInEdgesOfUnevenCommunities) {
  const graph::SourceGraph graph = WithLoops(CommunityGraph(2, 500, 8, 1, /*seed=*/1), 60, InFirstOfTwoCommunities);
  const auto edges_by = [&](const std::vector<BalanceConstraint>& balance) {
    return BalanceBy(*MakeStreamingPartitioner(), graph, balance).at("edges");
  };
  EXPECT_GT(edges_by({}), 1.3);
  EXPECT_LE(edges_by({BalanceConstraint::kEdges}), 1.2);
}

TEST(StreamingPartitionerTest, BalancesNodeTypesThatAreCommunities) {
  const graph::SourceGraph graph = InTwoTypes(CommunityGraph(2, 500, 8, 1, /*seed=*/1), InFirstOfTwoCommunities);
  const auto left_by = [&](const std::vector<BalanceConstraint>& balance) {
    return BalanceBy(*MakeStreamingPartitioner(), graph, balance).at("nodes:left");
  };
  EXPECT_GT(left_by({}), 1.3);
  EXPECT_LE(left_by({BalanceConstraint::kNodeTypes}), 1.1);
}

// The number of nodes may come from a file and need not match any column, so it is checked before memory is allocated.
TEST(PartitionersTest, RefuseTooManyNodesBeforeAllocation) {
  graph::SourceGraph graph = GraphOf(0, {});
  graph.nodes[0].count = uint64_t{1} << 40;
  for (const auto& make :
       {MakeMetisPartitioner, MakeMultilevelPartitioner, MakeRandomPartitioner, MakeStreamingPartitioner}) {
    const Status refused = make()->Partition(graph, {.num_partitions = 256}).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(),
                HasSubstr("node type 'node' has 1099511627776 nodes, which do not fit into 256 partitions"));
  }
  for (const auto& make : {MakeMetisPartitioner, MakeMultilevelPartitioner, MakeStreamingPartitioner}) {
    EXPECT_EQ(make()->Partition(graph, {.num_partitions = 257}).status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(MakeExternalPartitioner({Tensor::FromVector(std::vector<int64_t>{0})})
                  ->Partition(graph, {.num_partitions = 257})
                  .status()
                  .message(),
              HasSubstr("expected one integer per node: [1099511627776], found I64 [1]"));
}

TEST(RandomPartitionerTest, DiffersByAtMostOneNodeOfEachType) {
  const graph::SourceGraph graph = TypedGraph(33, /*seed=*/1);
  const Assignment assignment = *MakeRandomPartitioner()->Partition(graph, {.num_partitions = 7, .seed = 5});
  for (const std::vector<uint32_t>& partition_of : assignment) {
    std::vector<size_t> counts(7, 0);
    for (const uint32_t partition : partition_of) ++counts[partition];
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *least, 1u);
  }
}

TEST(ExternalPartitionerTest, UsesGivenAssignment) {
  const graph::SourceGraph graph = GraphOf(3, {{0, 1}});
  const auto partitioner = MakeExternalPartitioner({Tensor::FromVector(std::vector<int64_t>{2, 0, 1})});
  EXPECT_STREQ(partitioner->name(), "External");
  EXPECT_EQ(*partitioner->Partition(graph, {.num_partitions = 3}), (Assignment{{2, 0, 1}}));
}

TEST(ExternalPartitionerTest, RefusesInvalidPartitionIdsAndArrays) {
  const graph::SourceGraph graph = GraphOf(3, {});
  const auto refusal = [&](std::vector<Tensor> given) {
    return MakeExternalPartitioner(std::move(given))->Partition(graph, {.num_partitions = 2}).status().message();
  };
  EXPECT_THAT(refusal({Tensor::FromVector(std::vector<int32_t>{0, 1, 2})}),
              HasSubstr("node type 'node': row 2: partition 2 does not exist, expected 0 to 1"));
  EXPECT_THAT(refusal({Tensor::FromVector(std::vector<int8_t>{0, -1, 1})}), HasSubstr("row 1: partition -1"));
  EXPECT_THAT(refusal({Tensor::FromVector(std::vector<uint32_t>{0, 1})}), HasSubstr("[3], found U32 [2]"));
  EXPECT_THAT(refusal({Tensor::FromVector(std::vector<float>{0, 1, 1})}), HasSubstr("F32"));
  EXPECT_THAT(refusal({}), HasSubstr("found 0 arrays, expected one for each of the 1 node types"));
}

}  // namespace
}  // namespace espalier::partition
