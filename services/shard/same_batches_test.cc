// A seed gives the same mini-batches for every partitioning of the graph and for every process that samples them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "services/base/philox.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/fanout_sampler.h"
#include "services/sampler/batches/local_mini_batch_source.h"
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

constexpr const char* kTimes = "when";
constexpr uint32_t kNumTimes = 20;
constexpr const char* kMask = "may-be-drawn";

// Adds a time and a mask to every node, and a time to the edges of every relation except the first one of a typed
// graph.
graph::SourceGraph WithTimes(graph::SourceGraph source) {
  PhiloxStream random(3, 1);
  const auto times_of = [&](uint64_t count) {
    std::vector<int64_t> times(count);
    for (int64_t& time : times) time = random.NextBelow(kNumTimes);
    return Tensor::FromVector(std::move(times));
  };
  for (graph::NodeSet& nodes : source.nodes) {
    nodes.columns[kTimes] = times_of(nodes.count);
    std::vector<uint8_t> mask(nodes.count);
    for (size_t v = 0; v < mask.size(); ++v) mask[v] = v % 4 != 0 ? 1 : 0;
    nodes.columns[kMask] = Tensor::FromVector(std::move(mask));
  }
  for (size_t type = source.edges.size() > 1 ? 1 : 0; type < source.edges.size(); ++type) {
    source.edges[type].columns[kTimes] = times_of(source.edges[type].num_edges());
  }
  return source;
}

struct Run {
  uint32_t num_partitions = 1;
  int threads = 1;
  uint32_t depth = 1;
  uint32_t first_step = 0;
  uint32_t epoch = 1;
};

// Returns the batches of one trainer from a step to the end of the epoch.
std::vector<PortableBatch> CollectBatches(const graph::SourceGraph& source, const sampler::SamplingSpec& spec,
                                          const Run& run, uint64_t batch_size = 64) {
  partition::BuildOptions build;
  if (spec.draw.method == sampler::DrawMethod::kLabor) build.source_columns = {sampler::kOriginalIdColumn};
  if (spec.draw.weight_column == graph::SourceColumnName(kMask)) build.source_columns.push_back(kMask);
  build.time_column = spec.draw.time_column;
  const testing::TestGraph test = testing::MakeTestGraph(source, run.num_partitions, 100 + run.num_partitions, build);
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
  sampler::DrawMethod method = sampler::DrawMethod::kNeighbor;
  bool layer_dependency = false;
  bool timed = false;
  bool masked = false;
  sampler::Expand expand = sampler::Expand::kAlways;
};

constexpr auto kNeighbor = sampler::DrawMethod::kNeighbor;
constexpr auto kLabor = sampler::DrawMethod::kLabor;
constexpr auto kLast = sampler::DrawMethod::kLast;
constexpr auto kOnce = sampler::Expand::kOnce;

class SameBatchesTest : public ::testing::TestWithParam<Case> {};

TEST_P(SameBatchesTest, ForAnyNumberOfPartitionsThreadsAndAnyPointOfRestart) {
  const Case& c = GetParam();
  const graph::SourceGraph source = WithTimes(
      c.typed ? testing::PapersAndAuthors({.num_papers = 2000, .num_authors = 900, .seed = 6}) : Homogeneous());
  sampler::SamplingSpec spec = Spec(source, c.fanouts);
  spec.draw.replace = c.replace;
  spec.draw.method = c.method;
  spec.draw.layer_dependency = c.layer_dependency;
  spec.draw.expand = c.expand;
  if (c.timed) spec.draw.time_column = kTimes;
  if (c.timed) spec.seed_time_column = kTimes;
  if (c.weighted) spec.draw.weight_column = graph::kEdgeWeightColumn;
  if (c.masked) spec.draw.weight_column = graph::SourceColumnName(kMask);

  const std::vector<PortableBatch> expected = CollectBatches(source, spec, {});

  ASSERT_GT(expected.size(), 2u);
  ASSERT_GT(expected[0].edges[1].size(), 64u) << "the batch has hardly any edges";
  EXPECT_EQ(CollectBatches(source, spec, {}), expected);
  EXPECT_EQ(CollectBatches(source, spec, {.num_partitions = 2}), expected);
  EXPECT_EQ(CollectBatches(source, spec, {.num_partitions = 4, .threads = 3, .depth = 4}), expected);
  EXPECT_EQ(CollectBatches(source, spec, {.num_partitions = 3, .first_step = 2}),
            std::vector<PortableBatch>(expected.begin() + 2, expected.end()));
  EXPECT_NE(CollectBatches(source, spec, {.epoch = 2}), expected);
  spec.seed = 18;
  EXPECT_NE(CollectBatches(source, spec, {.num_partitions = 2}), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Draws, SameBatchesTest,
    ::testing::Values(Case{"Uniform", false, {10, 5}, false, false},
                      Case{"UniformWithReplacement", false, {10, 5}, true, false},
                      Case{"Full", false, {3, kFullNeighborhood}, false, false},
                      Case{"Weighted", false, {8, 4}, false, true},
                      Case{"WeightedWithReplacement", false, {8, 4}, true, true},
                      Case{"Typed", true, {4, 4}, false, false}, Case{"Labor", false, {8, 4}, false, false, kLabor},
                      Case{"LaborOfAllLayers", false, {8, 4}, false, false, kLabor, true},
                      Case{"LaborWeighted", false, {8, 4}, false, true, kLabor},
                      Case{"LaborTyped", true, {4, 4}, false, false, kLabor},
                      Case{"Temporal", false, {8, 4}, false, false, kNeighbor, false, true},
                      Case{"TemporalTyped", true, {4, 4}, false, false, kNeighbor, false, true},
                      Case{"TemporalLabor", false, {8, 4}, false, false, kLabor, false, true},
                      Case{"Last", false, {8, 4}, false, false, kLast, false, true},
                      Case{"TemporalWeighted", false, {8, 4}, false, true, kNeighbor, false, true},
                      Case{"TemporalFull", false, {2, -1}, false, false, kNeighbor, false, true},
                      Case{"MaskedTyped", true, {4, 4}, false, false, kLabor, false, false, true},
                      Case{"MaskedLast", false, {4, 4}, false, false, kLast, false, true, true},
                      Case{"Once", false, {8, 4}, false, false, kNeighbor, false, false, false, kOnce},
                      Case{"OnceTyped", true, {4, 4}, true, false, kNeighbor, false, false, false, kOnce},
                      Case{"OnceTemporal", true, {4, 4}, false, false, kLabor, false, true, false, kOnce}),
    [](const auto& test) { return test.param.name; });

// Every in-edge of a row of a temporal batch is an edge of the graph that is not later than the row's time, which is
// the time of its seed. A node that is reached at two times has two rows.
TEST(TemporalBatchesTest, RowsAreNodesAtTheTimeOfTheirSeed) {
  const graph::SourceGraph source = WithTimes(Homogeneous());
  partition::BuildOptions build;
  build.time_column = kTimes;
  const testing::TestGraph test = testing::MakeTestGraph(source, 2, 5, build);
  sampler::SamplingSpec spec = Spec(source, {6, 6});
  spec.draw.time_column = spec.seed_time_column = kTimes;
  Result<sampler::FanoutSampler> sampler = sampler::FanoutSampler::Make(*test.graph, spec);
  ASSERT_TRUE(sampler.ok()) << sampler.status().ToString();
  std::vector<GlobalNodeId> seeds;
  for (uint64_t v = 0; v < 60; ++v) seeds.push_back(GlobalNodeId(v * 50));
  const Result<sampler::MiniBatch> batch = sampler->Sample({.seeds = seeds, .want_edge_ids = true}, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();

  const Result<std::vector<int64_t>> seed_times = test.graph->ReadTimes(NodeTypeId(0), kTimes, seeds, Soon());
  ASSERT_TRUE(seed_times.ok()) << seed_times.status().ToString();
  ASSERT_EQ(batch->times[0].size(), batch->nodes[0].size());
  std::vector<std::optional<int64_t>> time_of_row(batch->nodes[0].size());
  for (size_t i = 0; i < seeds.size(); ++i) time_of_row[i] = seed_times->at(i);
  for (size_t layer = batch->layers.size(); layer-- > 0;) {
    const sampler::Block& block = batch->layers[layer].blocks[0];
    for (size_t row = 0; row + 1 < block.indptr.size(); ++row) {
      ASSERT_TRUE(time_of_row[row].has_value());
      for (uint32_t k = block.indptr[row]; k < block.indptr[row + 1]; ++k) {
        std::optional<int64_t>& of_source = time_of_row[block.indices[k]];
        if (!of_source.has_value()) of_source = time_of_row[row];
        EXPECT_EQ(of_source, time_of_row[row]);
        const GlobalEdgeId edge = block.edge_ids[k];
        const PartitionId owner = test.book.OwnerOf(EdgeTypeId(0), edge);
        const auto position = static_cast<int64_t>(edge.value - test.book.EdgeFirst(EdgeTypeId(0))[owner.value]);
        const Tensor& times = test.shards[owner.value]->data().edge_columns[0].at(kTimes);
        EXPECT_LE(times.ValueAsInt(position), *time_of_row[row]);
      }
    }
  }
  std::set<std::pair<uint64_t, int64_t>> rows;
  std::set<uint64_t> nodes;
  for (size_t row = 0; row < time_of_row.size(); ++row) {
    EXPECT_EQ(time_of_row[row], batch->times[0][row]);
    EXPECT_TRUE(rows.emplace(batch->nodes[0][row].value, *time_of_row[row]).second) << "a row occurs twice";
    nodes.insert(batch->nodes[0][row].value);
  }
  EXPECT_LT(nodes.size(), rows.size()) << "no node was met at two times: the test says nothing";
}

TEST(TemporalBatchesTest, NamesAColumnThatHoldsNoTimes) {
  const graph::SourceGraph source = WithTimes(Homogeneous());
  partition::BuildOptions build;
  build.time_column = kTimes;
  const testing::TestGraph test = testing::MakeTestGraph(source, 1, 5, build);
  const std::vector<GlobalNodeId> seeds = {GlobalNodeId(1)};
  sampler::SamplingSpec spec = Spec(source, {6});
  const auto error = [&] {
    Result<sampler::FanoutSampler> sampler = sampler::FanoutSampler::Make(*test.graph, spec);
    return sampler.ok() ? sampler->Sample({.seeds = seeds}, Soon()).status().message() : sampler.status().message();
  };
  spec.seed_time_column = kTimes;
  EXPECT_THAT(error(), ::testing::HasSubstr("need a time column of the edges"));
  spec.draw.time_column = kTimes;
  EXPECT_EQ(error(), "");
  spec.seed_time_column = "node-feat";
  EXPECT_THAT(error(), ::testing::HasSubstr("'node-feat' of node type"));
  spec.seed_time_column = "";
  EXPECT_THAT(error(), ::testing::HasSubstr("needs the times of the seeds"));
}

TEST(TemporalBatchesTest, RefusesInvalidTimes) {
  graph::SourceGraph source = WithTimes(Homogeneous());
  source.nodes[0].columns["until"] = Tensor::FromVector(std::vector<uint64_t>(source.nodes[0].count, ~uint64_t{0}));
  partition::BuildOptions build;
  build.time_column = kTimes;
  const testing::TestGraph test = testing::MakeTestGraph(source, 2, 5, build);
  const std::vector<GlobalNodeId> seeds = {GlobalNodeId(1)};
  EXPECT_THAT(test.graph->ReadTimes(NodeTypeId(0), "until", seeds, Soon()).status().message(),
              ::testing::HasSubstr("'until' of node type"));

  Result<sampler::FanoutSampler> sampler = sampler::FanoutSampler::Make(*test.graph, Spec(source, {6}));
  ASSERT_TRUE(sampler.ok());
  const std::vector<int64_t> times = {3};
  EXPECT_THAT(sampler->Sample({.seeds = seeds, .seed_times = times}, Soon()).status().message(),
              ::testing::HasSubstr("need a time column"));
}

// Seeds of different times have separate rows, so a batch may be larger than the graph; the limit bounds it.
TEST(TemporalBatchesTest, ABatchEndsAtItsLimitOfEdges) {
  const graph::SourceGraph source = WithTimes(Homogeneous());
  partition::BuildOptions build;
  build.time_column = kTimes;
  const testing::TestGraph test = testing::MakeTestGraph(source, 2, 5, build);
  sampler::SamplingSpec spec = Spec(source, {kFullNeighborhood, kFullNeighborhood});
  spec.draw.time_column = spec.seed_time_column = kTimes;
  std::vector<GlobalNodeId> seeds;
  for (uint64_t v = 0; v < 40; ++v) seeds.push_back(GlobalNodeId(v));
  const auto sample = [&](uint64_t max_edges) {
    spec.max_edges = max_edges;
    return sampler::FanoutSampler::Make(*test.graph, spec)->Sample({.seeds = seeds}, Soon());
  };
  const Result<sampler::MiniBatch> batch = sample(uint64_t{1} << 40);
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  uint64_t num_edges = 0;
  for (const sampler::BatchLayer& layer : batch->layers) num_edges += layer.blocks[0].indices.size();
  EXPECT_TRUE(sample(num_edges).ok());
  EXPECT_EQ(sample(num_edges - 1).status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(sample(10).status().message(), ::testing::HasSubstr("edges up to hop 0, the limit is 10"));
}

// The union of the mini-batches of all ranks is the batch of one trainer, and the draws of a node do not depend on the
// rank that draws.
TEST(SharesTest, ThreeTrainersDrawSameAsOne) {
  const graph::SourceGraph source = Homogeneous();
  const testing::TestGraph test = testing::MakeTestGraph(source, 2, 3);
  const sampler::SamplingSpec spec = Spec(source, {6});
  const std::string split = source.splits.begin()->first;
  // Seed -> its drawn in-neighbors, of step 0.
  const auto sampled_by = [&](uint32_t num_trainers, uint32_t rank, std::map<uint64_t, std::vector<uint64_t>>& drawn) {
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
  sampled_by(1, 0, by_one);
  for (uint32_t rank = 0; rank < 3; ++rank) sampled_by(3, rank, by_three);
  EXPECT_EQ(by_three, by_one);
}

}  // namespace
}  // namespace espalier::shard
