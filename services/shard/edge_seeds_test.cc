// A step's edges: the same pairs for any number of partitions, compared with a computation without shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/graph/generators.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using ::testing::HasSubstr;
using testing::TestGraph;

constexpr EdgeTypeId kLinkType(0);

// The generated graph with its first edges in a split: 50 train (one pair twice), 7 validate, 3 test.
graph::SourceGraph GraphWithEdgeSplit() {
  graph::PowerLawOptions options;
  options.num_nodes = 120;
  options.num_edges = 700;
  options.seed = 3;
  graph::SourceGraph source = *graph::GeneratePowerLawGraph(options, 1);
  graph::EdgeSplit& split = source.edge_splits["links"][kLinkType.value];
  const graph::EdgeSet& edges = source.edges[0];
  for (int64_t i = 0; i < 60; ++i) {
    graph::EdgePairs& part = i < 50 ? split.train : i < 57 ? split.validation : split.test;
    const int64_t edge = i == 1 ? 0 : i;
    part.sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(edge)));
    part.destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(edge)));
  }
  return source;
}

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

Pairs EdgesOfStep(const TestGraph& test, const sampler::SeedQuery& query) {
  const Result<sampler::GlobalBatch> batch = test.graph->SeedsOfStep(query, Soon());
  ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
  const std::vector<uint64_t> sources = testing::OriginalIds(*test.graph, NodeTypeId(0), batch->sources);
  const std::vector<uint64_t> destinations = testing::OriginalIds(*test.graph, NodeTypeId(0), batch->seeds);
  Pairs pairs;
  for (size_t i = 0; i < sources.size(); ++i) pairs.emplace_back(sources[i], destinations[i]);
  return pairs;
}

TEST(EdgeSeedsTest, AreThePermutedSplitForAnyPartitioning) {
  const graph::SourceGraph source = GraphWithEdgeSplit();
  const graph::EdgePairs& train = source.edge_splits.at("links").at(0).train;
  for (const uint32_t num_partitions : {1u, 2u, 5u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 11);
    for (uint32_t step = 0; step < 8; ++step) {
      sampler::SeedQuery query{.split = "links", .seed = 4, .epoch = 2, .step = step, .batch_size = 7};
      query.edge_types = {kLinkType};
      const sampler::SeedOrder order(query, 50);
      Pairs expected;
      for (uint64_t position = 7 * step; position < std::min<uint64_t>(50, 7 * (step + 1)); ++position) {
        const uint64_t ordinal = order.OrdinalAt(position);
        expected.emplace_back(train.sources[ordinal], train.destinations[ordinal]);
      }
      EXPECT_EQ(EdgesOfStep(test, query), expected) << num_partitions << " partitions, step " << step;
    }
  }
}

TEST(EdgeSeedsTest, KeepInputOrderWithoutShuffling) {
  const graph::SourceGraph source = GraphWithEdgeSplit();
  const graph::EdgePairs& validation = source.edge_splits.at("links").at(0).validation;
  const TestGraph test = testing::MakeTestGraph(source, 3, 2);
  sampler::SeedQuery query{
      .split = "links", .part = graph::SplitPartName::kValidation, .shuffle = false, .batch_size = 100};
  query.edge_types = {kLinkType};
  const Pairs pairs = EdgesOfStep(test, query);
  ASSERT_EQ(pairs.size(), 7u);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(pairs[i], std::pair(validation.sources[i], validation.destinations[i]));
}

TEST(EdgeSeedsTest, CountsAndRefusals) {
  const TestGraph test = testing::MakeTestGraph(GraphWithEdgeSplit(), 2, 2);
  EXPECT_EQ(*test.graph->CountOfEdges(kLinkType, "links", graph::SplitPartName::kTrain), 50u);
  EXPECT_EQ(*test.graph->CountOfEdges(kLinkType, "links", graph::SplitPartName::kTest), 3u);
  const Status unknown = test.graph->CountOfEdges(kLinkType, "edges", graph::SplitPartName::kTest).status();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("splits of edges are 'links' of 'node:edge:node'"));
  EXPECT_EQ(test.graph->CountOfEdges(EdgeTypeId(9), "links", graph::SplitPartName::kTest).status().code(),
            StatusCode::kInvalidArgument);
  sampler::SeedQuery twice{.split = "links", .batch_size = 4};
  twice.edge_types = {kLinkType, kLinkType};
  EXPECT_THAT(test.graph->SeedsOfStep(twice, Soon()).status().message(), HasSubstr("is named twice"));
  // A split of edges is not a split of nodes.
  EXPECT_EQ(test.graph->Count(NodeTypeId(0), "links", graph::SplitPartName::kTrain).status().code(),
            StatusCode::kNotFound);
}

TEST(EdgeSeedsTest, DamagedSplitsAreRefused) {
  graph::PartitionBook book;
  const auto refusal = [&](const std::function<void(graph::EdgeSplitPart&)>& damage) {
    std::vector<graph::Partition> partitions = testing::MakeTestPartitions(GraphWithEdgeSplit(), 1, 2, &book);
    damage(partitions[0].edge_splits.at("links").at(0)[1]);
    return GraphShard::Make(book, std::move(partitions[0])).status();
  };
  const Status source = refusal([](graph::EdgeSplitPart& part) {
    part.sources = Tensor::FromVector<uint32_t>({0, 1, 2, 3, 4, 5, 120});
  });
  EXPECT_EQ(source.code(), StatusCode::kDataLoss);
  EXPECT_THAT(source.message(), HasSubstr("entry 6 of validation of split 'links'"));
  const Status short_array =
      refusal([](graph::EdgeSplitPart& part) { part.destinations = Tensor::FromVector<uint32_t>({0}); });
  EXPECT_THAT(short_array.message(), HasSubstr("destinations of validation"));
  const Status order = refusal([](graph::EdgeSplitPart& part) {
    part.ordinals = Tensor::FromVector<uint64_t>({0, 1, 2, 2, 4, 5, 6});
  });
  EXPECT_THAT(order.message(), HasSubstr("entry 3"));
}

}  // namespace
}  // namespace espalier::shard
