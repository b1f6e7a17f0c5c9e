// Draws with excluded edges equal the draws from a graph without these edges, and fan-outs stay full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/philox.h"
#include "services/sampler/testing/reference_neighbor_source.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::EdgeEnds;
using sampler::HopQuery;
using sampler::HopSample;
using sampler::kFullNeighborhood;
using sampler::testing::ReferenceEdge;
using sampler::testing::ReferenceEdges;
using ::testing::HasSubstr;
using testing::TestGraph;

constexpr uint32_t kExcludedNodes = 200;

// Parallel edges, self loops, hubs; the weights are whole numbers.
ReferenceEdges ManyEdges() {
  PhiloxStream random(8, 0);
  ReferenceEdges edges;
  for (uint32_t i = 0; i < 5000; ++i) {
    const uint32_t destination = random.NextBelow(1 + random.NextBelow(kExcludedNodes));
    edges.push_back({random.NextBelow(kExcludedNodes), destination, random.NextBelow(20)});
  }
  return edges;
}

graph::SourceGraph SourceWith(const ReferenceEdges& edges) {
  std::vector<uint32_t> sources, destinations;
  std::vector<int32_t> weights;
  for (const ReferenceEdge& edge : edges) {
    sources.push_back(static_cast<uint32_t>(edge.source));
    destinations.push_back(static_cast<uint32_t>(edge.destination));
    weights.push_back(static_cast<int32_t>(edge.weight));
  }
  graph::SourceGraph source{.name = "test", .schema = sampler::testing::HomogeneousSchema()};
  source.nodes.push_back({.count = kExcludedNodes});
  source.edges.push_back({.sources = Tensor::FromVector(sources), .destinations = Tensor::FromVector(destinations)});
  source.edges[0].columns = {{"w", Tensor::FromVector(weights)}};
  return source;
}

// Every seventh edge, given by its ends, all in-edges of one node, and pairs that are not edges.
std::vector<EdgeEnds> EndsToExclude(const ReferenceEdges& edges) {
  std::vector<EdgeEnds> ends;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i % 7 == 0 || edges[i].destination == 3) {
      ends.push_back({GlobalNodeId(edges[i].destination), GlobalNodeId(edges[i].source)});
    }
  }
  for (uint64_t v = 0; v < kExcludedNodes; v += 5)
    ends.push_back({GlobalNodeId(v), GlobalNodeId((v * 31 + 1) % kExcludedNodes)});
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

ReferenceEdges Without(const ReferenceEdges& edges, const std::vector<EdgeEnds>& excluded) {
  ReferenceEdges rest;
  for (const ReferenceEdge& edge : edges) {
    const EdgeEnds ends{GlobalNodeId(edge.destination), GlobalNodeId(edge.source)};
    if (!std::binary_search(excluded.begin(), excluded.end(), ends)) rest.push_back(edge);
  }
  return rest;
}

HopQuery MakeQuery(const std::vector<GlobalNodeId>& nodes, const std::vector<EdgeEnds>& excluded, int32_t fanout,
                   bool replace, const std::string& weights) {
  return {.relations = {{.edge_type = EdgeTypeId(0), .fanout = fanout, .destinations = nodes, .excluded = excluded}},
          .seed = 5,
          .at = {.epoch = 1, .step = 2, .hop = 0},
          .draw = {.replace = replace, .weight_column = weights},
          .want_edge_ids = true};
}

std::vector<GlobalNodeId> Translate(const TestGraph& test, const std::vector<GlobalNodeId>& originals) {
  std::vector<OriginalNodeId> ids;
  for (const GlobalNodeId node : originals) ids.emplace_back(node.value);
  return *test.graph->ToGlobalIds(NodeTypeId(0), ids, Soon());
}

std::vector<EdgeEnds> Translate(const TestGraph& test, const std::vector<EdgeEnds>& originals) {
  std::vector<GlobalNodeId> sources, destinations;
  for (const EdgeEnds& ends : originals) {
    sources.push_back(ends.source);
    destinations.push_back(ends.destination);
  }
  sources = Translate(test, sources);
  destinations = Translate(test, destinations);
  std::vector<EdgeEnds> globals;
  for (size_t i = 0; i < sources.size(); ++i) globals.push_back({destinations[i], sources[i]});
  std::sort(globals.begin(), globals.end());
  return globals;
}

TEST(ExcludedSamplingTest, DrawsEqualThoseOfGraphWithoutEdges) {
  const ReferenceEdges edges = ManyEdges();
  const std::vector<EdgeEnds> excluded = EndsToExclude(edges);
  const ReferenceEdges rest = Without(edges, excluded);
  ASSERT_LT(rest.size(), edges.size() * 6 / 7);
  std::vector<GlobalNodeId> nodes;
  for (uint32_t v = 0; v < kExcludedNodes; ++v) nodes.push_back(GlobalNodeId((v * 7) % kExcludedNodes));
  for (const uint32_t num_partitions : {1u, 3u}) {
    const TestGraph whole = testing::MakeTestGraph(SourceWith(edges), num_partitions, 4);
    const TestGraph smaller = testing::MakeTestGraph(SourceWith(rest), num_partitions, 4);
    const std::vector<GlobalNodeId> globals = Translate(whole, nodes);
    const std::vector<EdgeEnds> ends = Translate(whole, excluded);
    for (const int32_t fanout : {1, 5, 20, kFullNeighborhood}) {
      for (const bool replace : {false, true}) {
        for (const char* weights : {"", "w"}) {
          const auto drawn = whole.graph->SampleInEdges(MakeQuery(globals, ends, fanout, replace, weights), Soon());
          const auto expected = smaller.graph->SampleInEdges(MakeQuery(globals, {}, fanout, replace, weights), Soon());
          ASSERT_TRUE(drawn.ok() && expected.ok()) << drawn.status().ToString();
          const std::string name = std::to_string(num_partitions) + " partitions, fan-out " + std::to_string(fanout) +
                                   (replace ? ", replace " : " ") + weights;
          EXPECT_EQ(drawn->relations[0].offsets, expected->relations[0].offsets) << name;
          EXPECT_EQ(drawn->relations[0].sources, expected->relations[0].sources) << name;
        }
      }
    }
  }
}

TEST(ExcludedSamplingTest, EdgeIdsReferToWholeGraph) {
  const ReferenceEdges edges = ManyEdges();
  const std::vector<EdgeEnds> excluded = EndsToExclude(edges);
  sampler::testing::ReferenceNeighborSource reference(sampler::testing::HomogeneousSchema(), {kExcludedNodes}, {edges});
  const TestGraph test = testing::MakeTestGraph(SourceWith(edges), 1, 0);
  std::vector<GlobalNodeId> nodes;
  for (uint32_t v = 0; v < kExcludedNodes; ++v) nodes.push_back(GlobalNodeId(v));
  for (const char* weights : {"", "w"}) {
    const HopQuery query = MakeQuery(nodes, excluded, 6, false, weights);
    const Result<HopSample> drawn = test.graph->SampleInEdges(query, Soon());
    const Result<HopSample> expected = reference.SampleInEdges(query, Soon());
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    EXPECT_EQ(drawn->relations[0].sources, expected->relations[0].sources);
    EXPECT_EQ(drawn->relations[0].edge_ids, expected->relations[0].edge_ids);
  }
}

TEST(ExcludedSamplingTest, RefusesInvalidExclusions) {
  const TestGraph test = testing::MakeTestGraph(SourceWith(ManyEdges()), 2, 0);
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(1)};
  const auto refusal = [&](const std::vector<EdgeEnds>& excluded) {
    return test.graph->SampleInEdges(MakeQuery(nodes, excluded, 1, false, ""), Soon()).status().message();
  };
  EXPECT_THAT(refusal({{GlobalNodeId(1), GlobalNodeId(kExcludedNodes)}}),
              HasSubstr("(200 -> 1): expected existing nodes"));
  EXPECT_THAT(refusal({{GlobalNodeId(2), GlobalNodeId(0)}, {GlobalNodeId(1), GlobalNodeId(0)}}),
              HasSubstr("ascending by destination"));
  // A shard checks requests, because clients are not trusted.
  sampler::PartitionHopQuery query{.relations = {{.edge_type = EdgeTypeId(0), .fanout = 1, .destinations = {}}}};
  query.relations[0].excluded_destinations = {LocalNodeId(3), LocalNodeId(1)};
  query.relations[0].excluded_sources = {GlobalNodeId(0)};
  Status status;
  const auto ask = [&] {
    test.shards[0]->SampleInEdges(query, Soon(), [&](const auto& answer) { status = answer.status(); });
    return status.message();
  };
  EXPECT_THAT(ask(), HasSubstr("2 destinations, but 1 sources"));
  query.relations[0].excluded_sources = {GlobalNodeId(0), GlobalNodeId(0)};
  EXPECT_THAT(ask(), HasSubstr("excluded edge 1 is out of order"));
}

}  // namespace
}  // namespace espalier::shard
