// Draws of a shard, compared with the reference implementation, on one partition, where global ids are original ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "services/base/philox.h"
#include "services/sampler/testing/reference_neighbor_source.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::HopQuery;
using sampler::HopSample;
using sampler::kFullNeighborhood;
using sampler::testing::ReferenceEdges;
using ::testing::HasSubstr;

constexpr uint32_t kNodes = 300;

// Degrees from 0 to large, parallel edges and self loops.
ReferenceEdges SkewedEdges() {
  PhiloxStream random(4, 0);
  ReferenceEdges edges;
  for (uint32_t i = 0; i < 8000; ++i) {
    const uint32_t destination = random.NextBelow(1 + random.NextBelow(kNodes));
    edges.push_back({random.NextBelow(kNodes), destination, random.NextBelow(4) == 0 ? 0 : random.NextBelow(50)});
  }
  return edges;
}

graph::SourceGraph SourceOf(const ReferenceEdges& edges) {
  std::vector<uint32_t> sources, destinations;
  std::vector<float> weights;
  for (const auto& edge : edges) {
    sources.push_back(static_cast<uint32_t>(edge.source));
    destinations.push_back(static_cast<uint32_t>(edge.destination));
    weights.push_back(static_cast<float>(edge.weight));
  }
  std::vector<int32_t> whole(weights.begin(), weights.end());
  graph::SourceGraph source{.name = "test", .schema = sampler::testing::HomogeneousSchema()};
  source.nodes.push_back({.count = kNodes});
  source.edges.push_back({.sources = Tensor::FromVector(sources), .destinations = Tensor::FromVector(destinations)});
  source.edges[0].columns = {{"w", Tensor::FromVector(whole)}, {"wf", Tensor::FromVector(weights)}};
  return source;
}

class ShardSamplingTest : public ::testing::Test {
 protected:
  ShardSamplingTest() {
    for (uint32_t v = 0; v < kNodes; ++v) all.push_back(GlobalNodeId((v * 7) % kNodes));
  }

  HopQuery Query(int32_t fanout, bool replace, const std::string& weights) const {
    return {.relations = {{.edge_type = EdgeTypeId(0), .fanout = fanout, .destinations = all}},
            .seed = 99,
            .at = {.epoch = 1, .step = 2, .hop = 1},
            .draw = {.replace = replace, .weight_column = weights},
            .want_edge_ids = true};
  }

  const ReferenceEdges edges = SkewedEdges();
  sampler::testing::ReferenceNeighborSource reference{sampler::testing::HomogeneousSchema(), {kNodes}, {edges}};
  testing::TestGraph test = testing::MakeTestGraph(SourceOf(edges), 1, 0);
  std::vector<GlobalNodeId> all;
};

TEST_F(ShardSamplingTest, MatchesReferenceAlgorithm) {
  for (const int32_t fanout : {1, 5, 15, 20, 40, kFullNeighborhood}) {
    for (const bool replace : {false, true}) {
      for (const char* weights : {"", "w"}) {
        const HopQuery query = Query(fanout, replace, weights);
        const Result<HopSample> expected = reference.SampleInEdges(query, Soon());
        const Result<HopSample> drawn = test.graph->SampleInEdges(query, Soon());
        ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
        const std::string name = "fan-out " + std::to_string(fanout) + (replace ? " replace " : " ") + weights;
        EXPECT_EQ(drawn->relations[0].offsets, expected->relations[0].offsets) << name;
        EXPECT_EQ(drawn->relations[0].sources, expected->relations[0].sources) << name;
        EXPECT_EQ(drawn->relations[0].edge_ids, expected->relations[0].edge_ids) << name;
      }
    }
  }
}

// Float weights are scaled before they are summed, so their draws differ from those of integers; the proportions are
// the same.
TEST_F(ShardSamplingTest, FloatWeightsDrawInProportion) {
  const ReferenceEdges row = reference.FindInEdges(EdgeTypeId(0), 0);
  ASSERT_GT(row.size(), 50u);
  const std::vector<GlobalNodeId> destination = {GlobalNodeId(0)};
  std::vector<double> count(row.size());
  constexpr int kSteps = 500, kFanout = 40;
  for (uint32_t step = 0; step < kSteps; ++step) {
    HopQuery query = Query(kFanout, true, "wf");
    query.relations[0].destinations = destination;
    query.at.step = step;
    const Result<HopSample> drawn = test.graph->SampleInEdges(query, Soon());
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    // Node 0's in-edges are the first in the partition: an edge's id is its position.
    for (const GlobalEdgeId edge : drawn->relations[0].edge_ids) ++count[edge.value];
  }
  double total = 0, chi_square = 0;
  int num_positive = 0;
  for (const auto& edge : row) total += edge.weight;
  for (size_t k = 0; k < row.size(); ++k) {
    const double expected = kSteps * kFanout * row[k].weight / total;
    if (row[k].weight == 0) {
      EXPECT_EQ(count[k], 0);
      continue;
    }
    ++num_positive;
    chi_square += (count[k] - expected) * (count[k] - expected) / expected;
  }
  const double freedom = num_positive - 1;
  EXPECT_LT(chi_square, freedom + 4 * std::sqrt(2 * freedom));
}

TEST_F(ShardSamplingTest, EveryCoordinateChangesTheDraws) {
  const auto sources = [&](const HopQuery& query) {
    const Result<HopSample> drawn = test.graph->SampleInEdges(query, Soon());
    EXPECT_TRUE(drawn.ok()) << drawn.status().ToString();
    return drawn->relations[0].sources;
  };
  const HopQuery query = Query(5, false, "");
  HopQuery other_seed = query, other_epoch = query, other_step = query, other_hop = query;
  other_seed.seed = 100;
  other_epoch.at.epoch = 2;
  other_step.at.step = 3;
  other_hop.at.hop = 0;
  EXPECT_EQ(sources(query), sources(query));
  EXPECT_NE(sources(other_seed), sources(query));
  EXPECT_NE(sources(other_epoch), sources(query));
  EXPECT_NE(sources(other_step), sources(query));
  EXPECT_NE(sources(other_hop), sources(query));
}

TEST_F(ShardSamplingTest, FindsEndpointsAndDegreesOfDrawnEdges) {
  const Result<HopSample> drawn = test.graph->SampleInEdges(Query(3, false, ""), Soon());
  ASSERT_TRUE(drawn.ok());
  const sampler::RelationSample& sample = drawn->relations[0];
  const Result<Tensor> ends = test.graph->FindEdges(EdgeTypeId(0), sample.edge_ids, Soon());
  const Result<Tensor> degrees = test.graph->InDegrees(EdgeTypeId(0), all, Soon());
  ASSERT_TRUE(ends.ok() && degrees.ok());
  const auto values = ends->values<int64_t>();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(degrees->values<uint32_t>()[i], reference.FindInEdges(EdgeTypeId(0), all[i].value).size());
    for (uint64_t k = sample.offsets[i]; k < sample.offsets[i + 1]; ++k) {
      EXPECT_EQ(values[k], static_cast<int64_t>(sample.sources[k].value));
      EXPECT_EQ(values[sample.sources.size() + k], static_cast<int64_t>(all[i].value));
    }
  }
}

TEST_F(ShardSamplingTest, NamesColumnsAndBadWeights) {
  const Status missing = test.graph->SampleInEdges(Query(3, false, "ww"), Soon()).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("it has 'w' 'wf'"));

  graph::SourceGraph source = SourceOf(edges);
  std::vector<float> weights(edges.size(), 1.0f);
  weights[4711] = -2;
  source.edges[0].columns["bad"] = Tensor::FromVector(weights);
  source.edges[0].columns["vector"] = Tensor::Zeros(DType::kF32, {static_cast<int64_t>(edges.size()), 2});
  const testing::TestGraph bad = testing::MakeTestGraph(source, 1, 0);
  const Status negative = bad.graph->SampleInEdges(Query(3, false, "bad"), Soon()).status();
  EXPECT_EQ(negative.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(negative.message(), HasSubstr("edge column 'bad': weight at position"));
  EXPECT_EQ(bad.graph->SampleInEdges(Query(3, false, "bad"), Soon()).status(), negative);
  EXPECT_THAT(bad.graph->SampleInEdges(Query(3, false, "vector"), Soon()).status().message(),
              HasSubstr("one number for each edge"));
}

TEST_F(ShardSamplingTest, ARelationWithoutEdgesNeedsNoWeights) {
  graph::SourceGraph source = SourceOf(edges);
  source.schema = *graph::GraphSchema::Make({"n"}, {{"n", "full", "n"}, {"n", "none", "n"}});
  source.edges.push_back({.sources = Tensor::Zeros(DType::kU32, {0}), .destinations = Tensor::Zeros(DType::kU32, {0})});
  const testing::TestGraph typed = testing::MakeTestGraph(source, 2, 0);
  HopQuery query = Query(3, false, "w");
  query.relations.push_back({.edge_type = EdgeTypeId(1), .fanout = 3, .destinations = all});
  const auto sample = typed.graph->SampleInEdges(query, Soon());
  ASSERT_TRUE(sample.ok()) << sample.status().ToString();
  EXPECT_GT(sample->relations[0].sources.size(), 0u);
  EXPECT_EQ(sample->relations[1].sources.size(), 0u);
}

}  // namespace
}  // namespace espalier::shard
