// The promise that everything else rests on: one seed, one set of mini-batches, however the graph is cut and whoever
// samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/graph/generators.h"
#include "services/sampler/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::kFullNeighborhood;
using testing::PortableBatch;

graph::SourceGraph Homogeneous() {
  graph::PowerLawOptions options;
  options.num_nodes = 3000;
  options.num_edges = 40'000;
  options.community_size = 300;
  options.features.width = 4;
  options.edge_weights = true;
  options.seed = 5;
  Result<graph::SourceGraph> graph = graph::GeneratePowerLawGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

graph::SourceGraph Typed() {
  graph::TypedOptions options;
  options.num_papers = 2000;
  options.num_authors = 900;
  options.seed = 6;
  Result<graph::SourceGraph> graph = graph::GenerateTypedGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

struct Run {
  uint32_t num_partitions = 1;
  int threads = 1;
  uint32_t depth = 1;
  uint32_t first_step = 0;
  uint32_t epoch = 1;
};

// The rest of an epoch from a step on, as one trainer gets it.
std::vector<PortableBatch> BatchesOf(const graph::SourceGraph& source, const sampler::SamplingSpec& spec,
                                     const Run& run, uint64_t batch_size = 64) {
  const testing::TestGraph test = testing::MakeTestGraph(source, run.num_partitions, 100 + run.num_partitions);
  const auto& [split, by_type] = *source.splits.begin();
  const sampler::EpochPlan plan{
      .seed_type = NodeTypeId(by_type.begin()->first), .split = split, .batch_size = batch_size};
  sampler::LocalMiniBatchSource batches(*test.graph, *test.graph, spec, plan,
                                        {.threads = run.threads, .depth = run.depth});
  const Status started = batches.StartEpoch(run.epoch, run.first_step);
  EXPECT_TRUE(started.ok()) << started.ToString();
  std::vector<PortableBatch> all;
  for (;;) {
    const Result<sampler::MiniBatch> batch = batches.Next(Soon());
    if (!batch.ok()) {
      EXPECT_EQ(batch.status().code(), StatusCode::kOutOfRange) << batch.status().ToString();
      return all;
    }
    EXPECT_EQ(batch->step, run.first_step + all.size());
    all.push_back(testing::ToPortable(*test.graph, *batch));
  }
}

sampler::SamplingSpec Spec(const graph::SourceGraph& source, std::vector<int32_t> fanouts) {
  sampler::SamplingSpec spec{.seed = 17};
  for (const int32_t fanout : fanouts) {
    spec.layers.push_back({std::vector<int32_t>(source.schema.num_edge_types(), fanout)});
  }
  return spec;
}

struct Case {
  const char* name;
  bool typed;
  std::vector<int32_t> fanouts;
  bool replace;
  bool weighted;
};

class SameBatchesTest : public ::testing::TestWithParam<Case> {};

TEST_P(SameBatchesTest, ForAnyNumberOfPartitionsThreadsAndAnyPointOfRestart) {
  const Case& c = GetParam();
  const graph::SourceGraph source = c.typed ? Typed() : Homogeneous();
  sampler::SamplingSpec spec = Spec(source, c.fanouts);
  spec.replace = c.replace;
  if (c.weighted) spec.weight_column = graph::kEdgeWeightColumn;

  const std::vector<PortableBatch> expected = BatchesOf(source, spec, {});

  ASSERT_GT(expected.size(), 2u);
  ASSERT_GT(expected[0].edges[1].size(), 64u) << "the batch has hardly any edges";
  EXPECT_EQ(BatchesOf(source, spec, {}), expected);
  EXPECT_EQ(BatchesOf(source, spec, {.num_partitions = 2}), expected);
  EXPECT_EQ(BatchesOf(source, spec, {.num_partitions = 4, .threads = 3, .depth = 4}), expected);
  EXPECT_EQ(BatchesOf(source, spec, {.num_partitions = 3, .first_step = 2}),
            std::vector<PortableBatch>(expected.begin() + 2, expected.end()));
  EXPECT_NE(BatchesOf(source, spec, {.epoch = 2}), expected);
  spec.seed = 18;
  EXPECT_NE(BatchesOf(source, spec, {.num_partitions = 2}), expected);
}

INSTANTIATE_TEST_SUITE_P(Draws, SameBatchesTest,
                         ::testing::Values(Case{"Uniform", false, {10, 5}, false, false},
                                           Case{"UniformWithReplacement", false, {10, 5}, true, false},
                                           Case{"Full", false, {3, kFullNeighborhood}, false, false},
                                           Case{"Weighted", false, {8, 4}, false, true},
                                           Case{"WeightedWithReplacement", false, {8, 4}, true, true},
                                           Case{"Typed", true, {4, 4}, false, false}),
                         [](const auto& test) { return test.param.name; });

// The union over ranks of what trainers get is the batch of one trainer, and what is drawn for a node does not depend
// on who draws it.
TEST(SharesTest, ThreeTrainersDrawTogetherWhatOneDraws) {
  const graph::SourceGraph source = Homogeneous();
  const testing::TestGraph test = testing::MakeTestGraph(source, 2, 3);
  const sampler::SamplingSpec spec = Spec(source, {6});
  const std::string split = source.splits.begin()->first;
  // Seed -> its drawn in-neighbours, of step 0.
  const auto drawn_by = [&](uint32_t num_trainers, uint32_t rank, std::map<uint64_t, std::vector<uint64_t>>& drawn) {
    const sampler::EpochPlan plan{.seed_type = NodeTypeId(0),
                                  .split = split,
                                  .batch_size = 100,
                                  .num_trainers = num_trainers,
                                  .rank = Rank(rank)};
    sampler::LocalMiniBatchSource batches(*test.graph, *test.graph, spec, plan, {});
    ASSERT_TRUE(batches.StartEpoch(0, 0).ok());
    const Result<sampler::MiniBatch> batch = batches.Next(Soon());
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    EXPECT_EQ(batch->global_num_seeds, 100u);
    EXPECT_NEAR(batch->num_seeds, 100.0 / num_trainers, 1.0);
    const std::vector<uint64_t> ids = testing::OriginalIds(*test.graph, NodeTypeId(0), batch->nodes[0]);
    const sampler::Block& block = batch->layers[0].blocks[0];
    for (uint32_t i = 0; i < batch->num_seeds; ++i) {
      EXPECT_FALSE(drawn.contains(ids[i])) << "seed " << ids[i] << " went to two trainers";
      for (uint32_t k = block.indptr[i]; k < block.indptr[i + 1]; ++k) drawn[ids[i]].push_back(ids[block.indices[k]]);
    }
  };
  std::map<uint64_t, std::vector<uint64_t>> by_one, by_three;
  drawn_by(1, 0, by_one);
  for (uint32_t rank = 0; rank < 3; ++rank) drawn_by(3, rank, by_three);
  EXPECT_EQ(by_three, by_one);
}

}  // namespace
}  // namespace espalier::shard
