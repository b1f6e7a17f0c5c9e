// LABOR, temporal draws and walks of one shard, compared with the reference implementation; refused queries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "services/base/philox.h"
#include "services/sampler/testing/reference_neighbor_source.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::DrawMethod;
using sampler::HopQuery;
using sampler::HopSample;
using sampler::kFullNeighborhood;
using sampler::testing::ReferenceEdges;
using ::testing::HasSubstr;

constexpr uint32_t kNumNodes = 250;
constexpr int64_t kLatest = 1000;

// Degrees from 0 to large, parallel edges, many edges with the same time, some edges of weight 0.
ReferenceEdges TimedEdges() {
  PhiloxStream random(8, 0);
  ReferenceEdges edges;
  for (uint32_t i = 0; i < 9000; ++i) {
    const uint32_t destination = random.NextBelow(1 + random.NextBelow(kNumNodes));
    edges.push_back({.source = random.NextBelow(kNumNodes),
                     .destination = destination,
                     .weight = random.NextBelow(3) == 0 ? 0 : random.NextBelow(20),
                     .time = 10 * static_cast<int64_t>(random.NextBelow(kLatest / 10)) - kLatest / 2});
  }
  return edges;
}

graph::SourceGraph TimedGraph(const ReferenceEdges& edges) {
  std::vector<uint32_t> sources, destinations, weights;
  std::vector<int64_t> times;
  for (const auto& edge : edges) {
    sources.push_back(static_cast<uint32_t>(edge.source));
    destinations.push_back(static_cast<uint32_t>(edge.destination));
    weights.push_back(edge.weight);
    times.push_back(edge.time);
  }
  graph::SourceGraph source{.name = "timed", .schema = sampler::testing::HomogeneousSchema()};
  source.nodes.push_back({.count = kNumNodes});
  std::vector<uint8_t> may_be_drawn(kNumNodes);
  for (uint32_t v = 0; v < kNumNodes; ++v) may_be_drawn[v] = v % 3 != 0 ? 1 : 0;
  source.nodes[0].columns = {{"may-be-drawn", Tensor::FromVector(may_be_drawn)}};
  source.edges.push_back({.sources = Tensor::FromVector(sources), .destinations = Tensor::FromVector(destinations)});
  source.edges[0].columns = {{"w", Tensor::FromVector(weights)},
                             {"when", Tensor::FromVector(times)},
                             {"when-f", Tensor::Zeros(DType::kF32, {static_cast<int64_t>(edges.size())})}};
  return source;
}

const partition::BuildOptions kBuild{.time_column = "when", .source_columns = {"original_id", "may-be-drawn"}};

class DrawMethodsTest : public ::testing::Test {
 protected:
  DrawMethodsTest() {
    PhiloxStream random(9, 0);
    for (uint32_t v = 0; v < kNumNodes; ++v) {
      all.push_back(GlobalNodeId((v * 7) % kNumNodes));
      times.push_back(static_cast<int64_t>(random.NextBelow(2 * kLatest)) - kLatest);
      walks.push_back(random.NextBelow(1000) + (uint64_t{1} << 33));
    }
  }

  HopQuery Query(int32_t fanout, DrawMethod method) const {
    return {.relations = {{.edge_type = EdgeTypeId(0), .fanout = fanout, .destinations = all}},
            .seed = 99,
            .at = {.epoch = 1, .step = 2, .hop = 1},
            .draw = {.method = method},
            .want_edge_ids = true};
  }
  Result<HopSample> Draw(const HopQuery& query) const { return test.graph->SampleInEdges(query, Soon()); }

  void ExpectAsReference(const HopQuery& query, const std::string& name) {
    const Result<HopSample> expected = reference.SampleInEdges(query, Soon());
    const Result<HopSample> drawn = Draw(query);
    ASSERT_TRUE(drawn.ok()) << name << ": " << drawn.status().ToString();
    EXPECT_EQ(drawn->relations[0].offsets, expected->relations[0].offsets) << name;
    EXPECT_EQ(drawn->relations[0].sources, expected->relations[0].sources) << name;
    EXPECT_EQ(drawn->relations[0].edge_ids, expected->relations[0].edge_ids) << name;
  }

  const ReferenceEdges edges = TimedEdges();
  sampler::testing::ReferenceNeighborSource reference{sampler::testing::HomogeneousSchema(), {kNumNodes}, {edges}};
  testing::TestGraph test = testing::MakeTestGraph(TimedGraph(edges), 1, 0, kBuild);
  std::vector<GlobalNodeId> all;
  std::vector<int64_t> times;
  std::vector<uint64_t> walks;
};

TEST_F(DrawMethodsTest, MatchReferenceAlgorithm) {
  for (const DrawMethod method : {DrawMethod::kNeighbor, DrawMethod::kLabor, DrawMethod::kLast}) {
    for (const int32_t fanout : {1, 5, 20, kFullNeighborhood}) {
      for (const char* weights : {"", "w"}) {
        for (const bool timed : {false, true}) {
          HopQuery query = Query(fanout, method);
          query.draw.weight_column = weights;
          if (timed) query.draw.time_column = "when";
          if (timed) query.relations[0].times = times;
          ExpectAsReference(query, "method " + std::to_string(static_cast<int>(method)) + " fan-out " +
                                       std::to_string(fanout) + " " + weights + (timed ? " timed" : ""));
        }
      }
    }
  }
}

TEST_F(DrawMethodsTest, ReplacementAndTimesMatchReference) {
  HopQuery query = Query(6, DrawMethod::kNeighbor);
  query.draw.replace = true;
  query.draw.time_column = "when";
  query.relations[0].times = times;
  ExpectAsReference(query, "uniform");
  query.draw.weight_column = "w";
  ExpectAsReference(query, "weighted");
}

// Excludes every third edge, given by its ends, and all in-edges of one node.
TEST_F(DrawMethodsTest, DrawAmongRemainingEdges) {
  std::vector<sampler::EdgeEnds> excluded;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i % 3 != 0 && edges[i].destination != 4) continue;
    excluded.push_back({GlobalNodeId(edges[i].destination), GlobalNodeId(edges[i].source)});
  }
  std::sort(excluded.begin(), excluded.end());
  for (const DrawMethod method : {DrawMethod::kNeighbor, DrawMethod::kLabor, DrawMethod::kLast}) {
    for (const int32_t fanout : {1, 5, 20, kFullNeighborhood}) {
      for (const char* weights : {"", "w"}) {
        for (const bool timed : {false, true}) {
          HopQuery query = Query(fanout, method);
          query.relations[0].excluded = excluded;
          query.draw.weight_column = weights;
          if (timed) query.draw.time_column = "when";
          if (timed) query.relations[0].times = times;
          ExpectAsReference(query, "method " + std::to_string(static_cast<int>(method)) + " fan-out " +
                                       std::to_string(fanout) + " " + weights + (timed ? " timed" : ""));
        }
      }
    }
  }
  HopQuery walked = Query(1, DrawMethod::kNeighbor);
  walked.draw.replace = true;
  walked.relations[0].walks = walks;
  walked.relations[0].excluded = excluded;
  ExpectAsReference(walked, "walks");
}

TEST_F(DrawMethodsTest, NothingIsLaterThanItsDestinationsTime) {
  HopQuery query = Query(kFullNeighborhood, DrawMethod::kNeighbor);
  query.draw.time_column = "when";
  query.relations[0].times = times;
  const Result<HopSample> drawn = Draw(query);
  ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
  // The expected number, counted over all edges.
  for (size_t i = 0; i < all.size(); ++i) {
    uint64_t expected = 0;
    for (const auto& edge : edges) expected += edge.destination == all[i].value && edge.time <= times[i] ? 1 : 0;
    EXPECT_EQ(drawn->relations[0].offsets[i + 1] - drawn->relations[0].offsets[i], expected) << i;
  }
}

TEST_F(DrawMethodsTest, LayerDependencyIgnoresOnlyHop) {
  HopQuery query = Query(4, DrawMethod::kLabor);
  query.draw.layer_dependency = true;
  ExpectAsReference(query, "layer dependency");
  HopQuery other_hop = query, other_step = query, without = query;
  other_hop.at.hop = 3;
  other_step.at.step = 3;
  without.draw.layer_dependency = false;
  EXPECT_EQ(Draw(other_hop)->relations[0].sources, Draw(query)->relations[0].sources);
  EXPECT_NE(Draw(other_step)->relations[0].sources, Draw(query)->relations[0].sources);
  EXPECT_NE(Draw(without)->relations[0].sources, Draw(query)->relations[0].sources);
}

TEST_F(DrawMethodsTest, LaborMeetsFewerNodes) {
  const auto distinct = [&](DrawMethod method) {
    const Result<HopSample> drawn = Draw(Query(2, method));
    EXPECT_TRUE(drawn.ok()) << drawn.status().ToString();
    return std::set<GlobalNodeId>(drawn->relations[0].sources.begin(), drawn->relations[0].sources.end()).size();
  };
  EXPECT_LT(distinct(DrawMethod::kLabor), distinct(DrawMethod::kNeighbor));
}

// All in-edges of a node are equally likely, regardless of the draws of other nodes.
TEST_F(DrawMethodsTest, LaborDrawsEachSourceOfANodeEquallyOften) {
  const std::vector<GlobalNodeId> destination = {GlobalNodeId(0)};
  std::map<GlobalNodeId, double> parallel;  // parallel edges have the same variate
  for (const auto& edge : reference.FindInEdges(EdgeTypeId(0), 0)) parallel[GlobalNodeId(edge.source)] += 1;
  std::map<GlobalNodeId, double> count;
  constexpr int kSteps = 4000;
  for (uint32_t step = 0; step < kSteps; ++step) {
    HopQuery query = Query(1, DrawMethod::kLabor);
    query.relations[0].destinations = destination;
    query.at.step = step;
    const Result<HopSample> drawn = Draw(query);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    count[drawn->relations[0].sources.at(0)] += 1;
  }
  double chi_square = 0;
  const double expected = kSteps / static_cast<double>(parallel.size());
  for (const auto& [source, edges_from] : parallel) {
    chi_square += (count[source] - expected) * (count[source] - expected) / expected;
  }
  const double freedom = static_cast<double>(parallel.size()) - 1;
  ASSERT_GT(freedom, 50);
  EXPECT_LT(chi_square, freedom + 4 * std::sqrt(2 * freedom));
}

TEST_F(DrawMethodsTest, AMaskOfNodesDecidesWhatMayBeDrawn) {
  for (const DrawMethod method : {DrawMethod::kNeighbor, DrawMethod::kLabor, DrawMethod::kLast}) {
    HopQuery query = Query(3, method);
    query.draw.weight_column = graph::SourceColumnName("may-be-drawn");
    const Result<HopSample> drawn = Draw(query);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    for (size_t i = 0; i < all.size(); ++i) {
      uint64_t allowed = 0;
      for (const auto& edge : reference.FindInEdges(EdgeTypeId(0), all[i].value))
        allowed += edge.source % 3 != 0 ? 1 : 0;
      EXPECT_EQ(drawn->relations[0].offsets[i + 1] - drawn->relations[0].offsets[i], std::min<uint64_t>(allowed, 3));
    }
    for (const GlobalNodeId source : drawn->relations[0].sources) EXPECT_NE(source.value % 3, 0u);
  }
}

TEST_F(DrawMethodsTest, WalksAtSameNodeAreIndependent) {
  HopQuery query = Query(1, DrawMethod::kNeighbor);
  query.draw.replace = true;
  query.relations[0].walks = walks;
  ExpectAsReference(query, "walks");
  const std::vector<GlobalNodeId> hub(walks.size(), GlobalNodeId(0));
  query.relations[0].destinations = hub;
  ExpectAsReference(query, "walks at one node");
  const Result<HopSample> drawn = Draw(query);
  ASSERT_TRUE(drawn.ok());
  EXPECT_GT(std::set<GlobalNodeId>(drawn->relations[0].sources.begin(), drawn->relations[0].sources.end()).size(), 50u);
}

TEST_F(DrawMethodsTest, RefuseInvalidOptions) {
  const auto refused = [&](const HopQuery& query, StatusCode code, const char* words) {
    const Status status = Draw(query).status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(words));
  };
  HopQuery query = Query(3, DrawMethod::kLabor);
  query.draw.replace = true;
  refused(query, StatusCode::kInvalidArgument, "without replacement");
  query = Query(3, DrawMethod::kLast);
  query.draw.replace = true;
  refused(query, StatusCode::kInvalidArgument, "without replacement");
  query = Query(3, DrawMethod::kLabor);
  query.relations[0].walks = walks;
  refused(query, StatusCode::kInvalidArgument, "random walks");
  query = Query(3, static_cast<DrawMethod>(77));
  refused(query, StatusCode::kInvalidArgument, "77 does not exist");

  query = Query(3, DrawMethod::kNeighbor);
  query.draw.time_column = "when";
  refused(query, StatusCode::kInvalidArgument, "0 values in `times`");
  query.relations[0].times = times;
  query.draw.time_column = "whenever";
  refused(query, StatusCode::kNotFound, "'whenever'");
  query.draw.time_column = "w";
  refused(query, StatusCode::kInvalidArgument, "not ordered by the column");
  query.draw.time_column = "when-f";
  refused(query, StatusCode::kInvalidArgument, "one integer for each edge");

  query = Query(1, DrawMethod::kNeighbor);
  query.relations[0].walks = walks;
  query.relations.push_back(Query(1, DrawMethod::kNeighbor).relations[0]);
  refused(query, StatusCode::kInvalidArgument, "0 values in `walks`");

  const testing::TestGraph bare = testing::MakeTestGraph(TimedGraph(edges), 1, 0);
  const Status no_ids = bare.graph->SampleInEdges(Query(3, DrawMethod::kLabor), Soon()).status();
  EXPECT_EQ(no_ids.code(), StatusCode::kNotFound);
  EXPECT_THAT(no_ids.message(), HasSubstr("source column 'original_id'"));
}

// Exclusion reads the whole row of a destination, but only of destinations with excluded edges.
TEST_F(DrawMethodsTest, ExclusionsWorkIsBounded) {
  const uint64_t degree = reference.FindInEdges(EdgeTypeId(0), 1).size();
  ASSERT_GT(degree, 10u);
  const auto status_with = [&](uint64_t limit) {
    graph::PartitionBook book;
    std::vector<graph::Partition> partitions = testing::MakeTestPartitions(TimedGraph(edges), 1, 0, &book, kBuild);
    const auto limited = GraphShard::Make(book, std::move(partitions[0]), {.max_lookups_per_request = limit});
    EXPECT_TRUE(limited.ok()) << limited.status().ToString();
    sampler::PartitionHopQuery query;
    // Several walks may be at the same node.
    query.relations.push_back({.edge_type = EdgeTypeId(0),
                               .fanout = 1,
                               .destinations = {LocalNodeId(1), LocalNodeId(1), LocalNodeId(2)},
                               .walks = {0, 1, 2},
                               .excluded_destinations = {LocalNodeId(1)},
                               .excluded_sources = {GlobalNodeId(0)}});
    Status status;
    (*limited)->SampleInEdges(query, Soon(),
                              [&](const Result<sampler::PartitionHopSample>& sample) { status = sample.status(); });
    return status;
  };
  EXPECT_TRUE(status_with(2 * degree).ok());
  EXPECT_EQ(status_with(2 * degree - 1).code(), StatusCode::kResourceExhausted);
}

// The limit applies to a request: its relations share it, and rows whose in-edges are all taken do not count.
TEST_F(DrawMethodsTest, LaborsWorkIsBounded) {
  uint64_t long_rows = 0, all_rows = 0;
  for (const GlobalNodeId node : all) {
    const uint64_t degree = reference.FindInEdges(EdgeTypeId(0), node.value).size();
    all_rows += degree;
    if (degree > 20) long_rows += degree;
  }
  ASSERT_LT(long_rows, all_rows);
  const auto status_with = [&](uint64_t limit, size_t num_relations) {
    graph::PartitionBook book;
    std::vector<graph::Partition> partitions = testing::MakeTestPartitions(TimedGraph(edges), 1, 0, &book, kBuild);
    const auto limited = GraphShard::Make(book, std::move(partitions[0]), {.max_lookups_per_request = limit});
    EXPECT_TRUE(limited.ok()) << limited.status().ToString();
    sampler::PartitionRelationQuery relation{.edge_type = EdgeTypeId(0), .fanout = 20};
    for (uint32_t v = 0; v < kNumNodes; ++v) relation.destinations.emplace_back(v);
    sampler::PartitionHopQuery query{.draw = {.method = DrawMethod::kLabor}};
    query.relations.assign(num_relations, relation);
    Status status;
    (*limited)->SampleInEdges(query, Soon(),
                              [&](const Result<sampler::PartitionHopSample>& sample) { status = sample.status(); });
    return status;
  };
  EXPECT_TRUE(status_with(long_rows, 1).ok());
  EXPECT_TRUE(status_with(3 * long_rows, 3).ok());
  EXPECT_EQ(status_with(long_rows - 1, 1).code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status_with(long_rows - 1, 1).message(),
              HasSubstr("a hop would read " + std::to_string(long_rows) + " in-edges"));
  EXPECT_EQ(status_with(3 * long_rows - 1, 3).code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier::shard
