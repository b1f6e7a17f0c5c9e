// Loaders with a feature cache, compared with loaders without one over the same servers.
#include "services/client/loaders/feature_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/client/loaders/edge_data_loader.h"
#include "services/client/loaders/node_data_loader.h"
#include "services/client/testing/open_served.h"
#include "services/client/testing/ranks.h"
#include "services/client/testing/served_samplers.h"
#include "services/sampler/testing/same_batch.h"

namespace espalier::client {
namespace {

using sampler::MiniBatch;
using sampler::RowCacheCounts;
using ::testing::ElementsAre;

// [example]
// Makes a loader of the features of each mini-batch's nodes. It keeps rows of other machines in 2 GiB of memory.
Result<std::unique_ptr<NodeDataLoader<Tensor>>> MakeCachedLoader(const DistGraph& graph, const NodesOfSplit& nodes,
                                                                 NodeLoaderOptions* options) {
  const NodeTypeId type = options->seed_type;
  ASSIGN_OR_RETURN(options->feature_cache,
                   FeatureCache::Make(graph, {.columns = {{type, "node-feat"}}, .memory_bytes = uint64_t{2} << 30}));
  const auto collate = [type, cache = options->feature_cache](const MiniBatch& batch, const Deadline& deadline) {
    return cache->GatherNodeRows(type, "node-feat", batch.nodes[type.value], deadline);
  };
  return NodeDataLoader<Tensor>::Make(graph, nodes, *options, collate);
}
// [example]

constexpr uint64_t kPlenty = uint64_t{8} << 20;

// A mini-batch with the features and original ids of all its nodes, by type.
struct ReadBatch {
  MiniBatch batch;
  std::vector<Tensor> rows;
};

void ExpectSame(const std::vector<ReadBatch>& read, const std::vector<ReadBatch>& expected) {
  ASSERT_EQ(read.size(), expected.size());
  for (size_t i = 0; i < read.size(); ++i) {
    sampler::testing::ExpectSameBatch(read[i].batch, expected[i].batch);
    ASSERT_EQ(read[i].rows.size(), expected[i].rows.size());
    for (size_t j = 0; j < read[i].rows.size(); ++j) {
      sampler::testing::ExpectSameRows(read[i].rows[j], expected[i].rows[j]);
    }
  }
}

class FeatureCacheTest : public ::testing::TestWithParam<bool> {
 protected:
  FeatureCacheTest()
      : served_(GetParam() ? testing::SmallTypedGraph() : testing::SmallGraph(), 2),
        graph_(testing::OpenServed(served_.addresses())) {
    for (uint16_t type = 0; type < graph_->schema().num_node_types(); ++type) {
      for (const char* const name : {graph::kFeatureColumn, sampler::kOriginalIdColumn}) {
        columns_.emplace_back(NodeTypeId(type), name);
      }
    }
  }

  std::shared_ptr<FeatureCache> MakeCache(uint64_t memory_bytes = kPlenty, uint32_t steps = 4) const {
    auto cache = FeatureCache::Make(*graph_, {.columns = columns_, .memory_bytes = memory_bytes, .steps = steps});
    ESPALIER_CHECK(cache.ok()) << cache.status().ToString();
    return *std::move(cache);
  }
  sampler::SamplingSpec Spec() const {
    sampler::SamplingSpec spec{.seed = 8};
    for (const int32_t fanout : {4, 3}) {
      spec.layers.push_back({std::vector<int32_t>(graph_->schema().num_edge_types(), fanout)});
    }
    return spec;
  }
  // Returns the options of a loader with 8 mini-batches an epoch.
  NodeLoaderOptions NodeOptions(std::shared_ptr<FeatureCache> cache = nullptr) const {
    const auto& split = graph_->node_splits().front();
    return {.seed_type = split.node_type,
            .batch_size = (split.train + 7) / 8,
            .sampling = Spec(),
            .feature_cache = std::move(cache)};
  }
  NodesOfSplit TrainingNodes() const { return {.split = graph_->node_splits().front().split}; }
  EdgeLoaderOptions EdgeOptions(std::shared_ptr<FeatureCache> cache = nullptr) const {
    return {.batch_size = 30,
            .negatives = {sampler::NegativeKind::kUniform, 2},
            .sampling = Spec(),
            .feature_cache = std::move(cache)};
  }
  EdgesOfSplit TrainingEdges() const {
    const auto& split = graph_->edge_splits().front();
    return {{split.edge_type}, split.split};
  }

  // Reads all columns from the cache, or from the graph if it is null. Fails on the mini-batch of step `fails_at`. The
  // cache sees nodes that are destroyed before the next mini-batch.
  NodeDataLoader<ReadBatch>::Collate ReadRows(std::shared_ptr<FeatureCache> cache,
                                              std::optional<uint32_t> fails_at = {}) const {
    return [this, cache = std::move(cache), fails_at](MiniBatch batch, const Deadline& deadline) -> Result<ReadBatch> {
      ReadBatch read;
      if (batch.step == fails_at) return InvalidArgument("step " + std::to_string(batch.step));
      for (const auto& [type, column] : columns_) {
        const std::vector<GlobalNodeId> nodes = batch.nodes[type.value];
        ASSIGN_OR_RETURN(Tensor rows, cache == nullptr ? graph_->GatherNodeRows(type, column, nodes, deadline)
                                                       : cache->GatherNodeRows(type, column, nodes, deadline));
        read.rows.push_back(std::move(rows));
      }
      read.batch = std::move(batch);
      return read;
    };
  }

  // Returns the next `count` mini-batches, or those that are left.
  template <class Loader>
  static std::vector<ReadBatch> Take(Loader& loader, size_t count = SIZE_MAX) {
    std::vector<ReadBatch> batches;
    while (batches.size() < count) {
      auto batch = loader.Next();
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      if (!batch.ok() || !batch->has_value()) break;
      batches.push_back(**std::move(batch));
    }
    return batches;
  }
  template <class Loader>
  static std::vector<ReadBatch> Epochs(Loader& loader, uint32_t num_epochs) {
    std::vector<ReadBatch> all;
    for (uint32_t epoch = 0; epoch < num_epochs; ++epoch) {
      EXPECT_TRUE(loader.StartEpoch(epoch).ok());
      for (ReadBatch& batch : Take(loader)) all.push_back(std::move(batch));
    }
    return all;
  }
  std::unique_ptr<NodeDataLoader<ReadBatch>> MakeNodeLoader(const std::shared_ptr<FeatureCache>& cache,
                                                            std::optional<uint32_t> fails_at = {}) const {
    auto loader =
        NodeDataLoader<ReadBatch>::Make(*graph_, TrainingNodes(), NodeOptions(cache), ReadRows(cache, fails_at));
    ESPALIER_CHECK(loader.ok()) << loader.status().ToString();
    return *std::move(loader);
  }
  // Returns how many rows the mini-batches read, of all types; a row that several mini-batches read counts each time.
  static uint64_t CountRows(const std::vector<ReadBatch>& batches) {
    uint64_t rows = 0;
    for (const ReadBatch& read : batches) {
      for (const auto& nodes : read.batch.nodes) rows += nodes.size();
    }
    return rows;
  }
  // Returns how many different rows the mini-batches read, of all types.
  static uint64_t CountDistinctRows(const std::vector<ReadBatch>& batches) {
    std::set<std::pair<size_t, uint64_t>> rows;
    for (const ReadBatch& read : batches) {
      for (size_t type = 0; type < read.batch.nodes.size(); ++type) {
        for (const GlobalNodeId node : read.batch.nodes[type]) rows.emplace(type, node.value);
      }
    }
    return rows.size();
  }

  const testing::ServedGraph served_;
  const std::unique_ptr<DistGraph> graph_;
  std::vector<std::pair<NodeTypeId, std::string>> columns_;
};

INSTANTIATE_TEST_SUITE_P(Typed, FeatureCacheTest, ::testing::Bool());

TEST_P(FeatureCacheTest, BatchesOfNodesAreThoseWithoutACache) {
  const auto without = MakeNodeLoader(nullptr);
  const std::vector<ReadBatch> expected = Epochs(*without, 3);
  ASSERT_EQ(expected.size(), 24u);
  for (const uint64_t memory_bytes : {kPlenty, uint64_t{24} << 10, uint64_t{1}}) {
    const auto cache = MakeCache(memory_bytes);
    ExpectSame(Epochs(*MakeNodeLoader(cache), 3), expected);
    const RowCacheCounts counts = cache->counts();
    EXPECT_EQ(counts.hit_rows + counts.fetched_rows, CountRows(expected)) << memory_bytes;
    EXPECT_EQ(counts.hit_rows > 0, memory_bytes > 1);
    if (memory_bytes > 1) {
      EXPECT_LE(cache->held_bytes(), memory_bytes);
    }
    // With enough memory each row is fetched once, in all epochs together.
    const uint64_t num_distinct = CountDistinctRows(expected);
    if (memory_bytes == kPlenty) {
      EXPECT_EQ(counts.fetched_rows, num_distinct);
    } else {
      EXPECT_GT(counts.fetched_rows, num_distinct);
    }
  }
}

TEST_P(FeatureCacheTest, BatchesOfEdgesAreThoseWithoutACache) {
  const auto make = [&](const std::shared_ptr<FeatureCache>& cache) {
    auto loader = EdgeDataLoader<ReadBatch>::Make(*graph_, TrainingEdges(), EdgeOptions(cache), ReadRows(cache));
    ESPALIER_CHECK(loader.ok()) << loader.status().ToString();
    return *std::move(loader);
  };
  const std::vector<ReadBatch> expected = Epochs(*make(nullptr), 2);
  ASSERT_EQ(expected.size(), 14u);
  const auto cache = MakeCache();
  ExpectSame(Epochs(*make(cache), 2), expected);
  EXPECT_EQ(cache->counts().fetched_rows, CountDistinctRows(expected));
}

TEST_P(FeatureCacheTest, BatchesOfSamplersEqualThoseWithoutCache) {
  const auto partitions = std::shared_ptr<sampler::PartitionedGraph>(&served_.local_graph(), [](auto*) {});
  const testing::ServedSamplers samplers(partitions, 2);
  Context context = graph_->context();
  context.session.partition_key = testing::kPartitionKey;
  context.samplers = samplers.addresses();
  const DistGraph graph("test", graph_->shared_partitions(), context);
  const auto cache = MakeCache();
  NodeLoaderOptions options = NodeOptions(cache);
  options.sampled_by = SampledBy::kSamplers;
  auto loader = NodeDataLoader<ReadBatch>::Make(graph, TrainingNodes(), options, ReadRows(cache));
  ASSERT_TRUE(loader.ok()) << loader.status().ToString();
  const std::vector<ReadBatch> expected = Epochs(*MakeNodeLoader(nullptr), 2);
  ExpectSame(Epochs(**loader, 2), expected);
  EXPECT_EQ(cache->counts().fetched_rows, CountDistinctRows(expected));
}

TEST_P(FeatureCacheTest, AnEpochThatIsLeftEarlyIsFollowedByAnyOther) {
  const auto cache = MakeCache(), none = std::shared_ptr<FeatureCache>();
  const auto with = MakeNodeLoader(cache), without = MakeNodeLoader(none);
  for (const auto& [epoch, first_step, count] : {std::tuple(0u, 0u, size_t{2}), std::tuple(0u, 2u, size_t{1}),
                                                 std::tuple(5u, 7u, SIZE_MAX), std::tuple(1u, 0u, SIZE_MAX)}) {
    ASSERT_TRUE(with->StartEpoch(epoch, first_step).ok());
    ASSERT_TRUE(without->StartEpoch(epoch, first_step).ok());
    ExpectSame(Take(*with, count), Take(*without, count));
  }
  with->Cancel();
  EXPECT_EQ(with->Next().status().code(), StatusCode::kCancelled);
  EXPECT_GT(cache->counts().hit_rows, 0u);
}

TEST_P(FeatureCacheTest, ACacheThatACollateHasFailedWithServesTheNextLoader) {
  const auto cache = MakeCache();
  {
    const auto failing = MakeNodeLoader(cache, /*fails_at=*/2);
    ASSERT_TRUE(failing->StartEpoch(0).ok());
    EXPECT_EQ(Take(*failing, 2).size(), 2u);
    EXPECT_EQ(failing->Next().status(), InvalidArgument("step 2"));
  }
  const auto without = MakeNodeLoader(nullptr);
  const std::vector<ReadBatch> expected = Epochs(*without, 1);
  const uint64_t fetched_before = cache->counts().fetched_rows;
  ExpectSame(Epochs(*MakeNodeLoader(cache), 1), expected);
  // The rows of steps 0 and 1 were in the cache.
  EXPECT_LT(cache->counts().fetched_rows - fetched_before, CountDistinctRows(expected));
}

TEST_P(FeatureCacheTest, TheExampleReadsTheFeaturesOfItsBatches) {
  NodeLoaderOptions options = NodeOptions();
  auto loader = MakeCachedLoader(*graph_, TrainingNodes(), &options);
  ASSERT_TRUE(loader.ok()) << loader.status().ToString();
  const std::vector<ReadBatch> expected = Epochs(*MakeNodeLoader(nullptr), 1);
  const auto column =
      std::find(columns_.begin(), columns_.end(), std::pair(options.seed_type, std::string(graph::kFeatureColumn)));
  ASSERT_TRUE((*loader)->StartEpoch(0).ok());
  for (const ReadBatch& read : expected) {
    const auto rows = (*loader)->Next();
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    ASSERT_TRUE(rows->has_value());
    sampler::testing::ExpectSameRows(**rows, read.rows[static_cast<size_t>(column - columns_.begin())]);
  }
  EXPECT_GT(options.feature_cache->counts().hit_rows, 0u);
}

TEST_P(FeatureCacheTest, ReadsOfOtherNodesComeFromTheGraph) {
  const auto cache = MakeCache();
  const NodeTypeId type = columns_.front().first;
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(3), GlobalNodeId(1)};
  const auto rows = cache->GatherNodeRows(type, graph::kFeatureColumn, nodes, Deadline::Never());
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  sampler::testing::ExpectSameRows(*rows, *graph_->GatherNodeRows(type, graph::kFeatureColumn, nodes));
  EXPECT_EQ(cache->counts().fetched_rows, 0u);
}

TEST_P(FeatureCacheTest, KeepsNothingIfAllPartitionsAreInThisProcess) {
  const auto partitions = std::shared_ptr<sampler::PartitionedGraph>(&served_.local_graph(), [](auto*) {});
  const auto here = testing::GraphOfRank(partitions, 0, 1);
  const auto cache = FeatureCache::Make(*here, {.columns = columns_, .memory_bytes = kPlenty});
  ASSERT_TRUE(cache.ok()) << cache.status().ToString();
  auto loader = NodeDataLoader<ReadBatch>::Make(*here, TrainingNodes(), NodeOptions(*cache), ReadRows(*cache));
  ASSERT_TRUE(loader.ok()) << loader.status().ToString();
  ExpectSame(Epochs(**loader, 1), Epochs(*MakeNodeLoader(nullptr), 1));
  EXPECT_EQ((*cache)->counts().hit_rows + (*cache)->counts().fetched_rows, 0u);
  EXPECT_EQ((*cache)->held_bytes(), 0u);
}

// Returns mini-batches of one node, by step, and an error at step `fails_at`.
class FailingBatches final : public sampler::MiniBatchSource {
 public:
  FailingBatches(size_t num_types, uint32_t fails_at) : num_types_(num_types), fails_at_(fails_at) {}
  Status StartEpoch(uint32_t, uint32_t first_step) override {
    step_ = first_step;
    return Status();
  }
  Result<MiniBatch> Next(Deadline) override {
    if (step_ == fails_at_) return Unavailable("partition 1: connection refused");
    MiniBatch batch;
    batch.step = step_++;
    batch.nodes.resize(num_types_);
    batch.nodes[0].push_back(GlobalNodeId(batch.step));
    return batch;
  }
  void Cancel() override {}

 private:
  const size_t num_types_;
  const uint32_t fails_at_;
  uint32_t step_ = 0;
};

TEST_P(FeatureCacheTest, AnErrorOfSamplingComesAfterTheBatchesBeforeIt) {
  const auto source = FeatureCache::MakeBatches(
      MakeCache(), *graph_, std::make_unique<FailingBatches>(graph_->schema().num_node_types(), /*fails_at=*/3));
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  for (int epoch = 0; epoch < 2; ++epoch) {
    ASSERT_TRUE((*source)->StartEpoch(0, 0).ok());
    std::vector<uint32_t> steps;
    for (int i = 0; i < 3; ++i) {
      const Result<MiniBatch> batch = (*source)->Next(Deadline::Never());
      ASSERT_TRUE(batch.ok()) << batch.status().ToString();
      steps.push_back(batch->step);
    }
    EXPECT_THAT(steps, ElementsAre(0, 1, 2));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ((*source)->Next(Deadline::Never()).status(), Unavailable("partition 1: connection refused"));
    }
  }
}

TEST_P(FeatureCacheTest, SaysWhatItRefuses) {
  const auto refusal = [&](const FeatureCacheOptions& options) {
    return FeatureCache::Make(*graph_, options).status();
  };
  EXPECT_EQ(refusal({.columns = columns_}), InvalidArgument("feature cache: 0 bytes of memory, expected at least 1"));
  EXPECT_EQ(refusal({.columns = columns_, .memory_bytes = 1, .steps = 0}),
            InvalidArgument("feature cache: 0 steps, expected 1 to 1000"));
  EXPECT_EQ(refusal({.columns = columns_, .memory_bytes = 1, .steps = 1001}),
            InvalidArgument("feature cache: 1001 steps, expected 1 to 1000"));
  EXPECT_EQ(refusal({.columns = {}, .memory_bytes = 1}),
            InvalidArgument("feature cache: no columns, expected at least one node column"));
  const std::string type = graph_->schema().node_types().front();
  EXPECT_EQ(refusal({.columns = {{NodeTypeId(0), "color"}}, .memory_bytes = 1}),
            NotFound("feature cache: node type '" + type +
                     "' has no column 'color', expected a column of the graph (attached tensors cannot be cached)"));

  const auto cache = MakeCache();
  const auto first = MakeNodeLoader(cache);
  EXPECT_EQ(NodeDataLoader<ReadBatch>::Make(*graph_, TrainingNodes(), NodeOptions(cache), ReadRows(cache)).status(),
            FailedPrecondition("the feature cache is used by another loader: make one for each loader"));
  const auto other = testing::OpenServed(served_.addresses());
  const auto unused = MakeCache();
  EXPECT_EQ(
      EdgeDataLoader<ReadBatch>::Make(*other, TrainingEdges(), EdgeOptions(unused), ReadRows(unused)).status(),
      InvalidArgument("the loader's feature cache was made for another graph: make it with the loader's DistGraph"));
}

}  // namespace
}  // namespace espalier::client
