// Loaders with sampler processes, compared with loaders that sample in their own process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/client/loaders/edge_data_loader.h"
#include "services/client/loaders/node_data_loader.h"
#include "services/client/testing/ranks.h"
#include "services/client/testing/served_samplers.h"
#include "services/sampler/testing/same_batch.h"

namespace espalier::client {
namespace {

using sampler::MiniBatch;
using ::testing::HasSubstr;

constexpr uint32_t kLoadedEpoch = 3;

// A heterograph and a homogeneous graph, with two samplers each.
class SamplerLoadersTest : public ::testing::TestWithParam<bool> {
 protected:
  SamplerLoadersTest()
      : partitions_(
            shard::testing::MakeTestGraph(GetParam() ? testing::SmallTypedGraph() : testing::SmallGraph(), 3, 4).graph),
        samplers_(partitions_, 2) {}

  std::unique_ptr<DistGraph> MakeGraph(uint32_t rank, uint32_t world_size) const {
    return testing::GraphOfRank(partitions_, rank, world_size, samplers_.addresses());
  }
  sampler::SamplingSpec Spec() const {
    sampler::SamplingSpec spec{.seed = 8};
    for (const int32_t fanout : {4, 3}) {
      spec.layers.push_back({std::vector<int32_t>(partitions_->book().schema().num_edge_types(), fanout)});
    }
    return spec;
  }
  NodeLoaderOptions NodeOptions() const {
    return {.seed_type = partitions_->description().splits.front().node_type, .batch_size = 40, .sampling = Spec()};
  }
  NodesOfSplit Nodes() const { return {.split = partitions_->description().splits.front().split}; }
  EdgeLoaderOptions EdgeOptions() const { return {.batch_size = 30, .negatives = {}, .sampling = Spec()}; }
  EdgesOfSplit Edges() const {
    const auto& split = partitions_->description().edge_splits.front();
    return {{split.edge_type}, split.split};
  }

  template <class Nodes>
  static std::vector<MiniBatch> BatchesOfNodes(const DistGraph& graph, const Nodes& nodes,
                                               const NodeLoaderOptions& options) {
    auto loader = DistNodeDataLoader::Make(graph, nodes, options,
                                           [](MiniBatch batch, const Deadline&) -> Result<MiniBatch> { return batch; });
    ESPALIER_CHECK(loader.ok()) << loader.status().ToString();
    ESPALIER_CHECK((*loader)->StartEpoch(kLoadedEpoch).ok());
    std::vector<MiniBatch> batches;
    for (;;) {
      auto batch = (*loader)->Next();
      ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
      if (!batch->has_value()) return batches;
      batches.push_back(**std::move(batch));
    }
  }
  static void ExpectSameBatches(const std::vector<MiniBatch>& made, const std::vector<MiniBatch>& expected) {
    ASSERT_EQ(made.size(), expected.size());
    ASSERT_GT(made.size(), 2u);
    for (size_t step = 0; step < made.size(); ++step) sampler::testing::ExpectSameBatch(made[step], expected[step]);
  }

  const std::shared_ptr<sampler::PartitionedGraph> partitions_;
  const testing::ServedSamplers samplers_;
};

INSTANTIATE_TEST_SUITE_P(Typed, SamplerLoadersTest, ::testing::Bool());

TEST_P(SamplerLoadersTest, SplitEqualsListOfItsNodes) {
  NodeLoaderOptions options = NodeOptions();
  for (const uint32_t world_size : {1u, 3u}) {
    const auto graph = MakeGraph(world_size - 1, world_size);
    for (const auto part : {graph::SplitPartName::kTrain, graph::SplitPartName::kTest}) {
      NodesOfSplit nodes = Nodes();
      nodes.part = part;
      const auto list = graph->SplitNodes(options.seed_type, nodes.split, part);
      ASSERT_TRUE(list.ok()) << list.status().ToString();
      options.batch_size = list->size() / 4 + 1;
      for (const LastBatch last : {LastBatch::kKeep, LastBatch::kDrop}) {
        options.last_batch = last;
        options.shuffle = last == LastBatch::kKeep;
        ExpectSameBatches(BatchesOfNodes(*graph, nodes, options), BatchesOfNodes(*graph, *list, options));
      }
    }
  }
}

TEST_P(SamplerLoadersTest, SamplersDrawTheBatchesOfNodes) {
  NodeLoaderOptions here = NodeOptions();
  here.batch_size = partitions_->description().splits.front().train / 4 + 1;
  for (const uint32_t world_size : {1u, 3u}) {
    const auto graph = MakeGraph(world_size - 1, world_size);
    for (const bool changed : {false, true}) {
      here.last_batch = changed ? LastBatch::kDrop : LastBatch::kKeep;
      here.shuffle = !changed;
      here.want_edge_ids = changed;
      NodeLoaderOptions there = here;
      there.sampled_by = SampledBy::kSamplers;
      const std::vector<MiniBatch> sent = BatchesOfNodes(*graph, Nodes(), there);
      ExpectSameBatches(sent, BatchesOfNodes(*graph, Nodes(), here));
      EXPECT_EQ(sent.size(), changed ? 3u : 4u);
    }
  }
}

TEST_P(SamplerLoadersTest, SamplersDrawTheBatchesOfEdges) {
  using sampler::NegativeKind;
  EdgeLoaderOptions here = EdgeOptions();
  here.edge_columns = {"rating"};
  for (const NegativeKind kind : {NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInBatch,
                                  NegativeKind::kInDegree, NegativeKind::kGlobalUniform}) {
    for (const uint32_t world_size : {1u, 3u}) {
      const auto graph = MakeGraph(world_size - 1, world_size);
      for (const bool changed : {false, true}) {
        here.negatives = {kind, changed && kind == NegativeKind::kUniform ? 0u : 3u};
        here.exclude_batch = !changed;
        here.last_batch = changed ? LastBatch::kDrop : LastBatch::kKeep;
        here.want_edge_ids = changed;
        EdgeLoaderOptions there = here;
        there.sampled_by = SampledBy::kSamplers;
        const std::vector<MiniBatch> sent = testing::BatchesOfEpoch(*graph, Edges(), there, kLoadedEpoch);
        ExpectSameBatches(sent, testing::BatchesOfEpoch(*graph, Edges(), here, kLoadedEpoch));
        EXPECT_EQ(sent.size(), changed ? 6u : 7u);  // 200 edges
      }
    }
  }
}

TEST_P(SamplerLoadersTest, RefuseOptionsUnsupportedBySamplers) {
  const auto graph = MakeGraph(0, 1);
  const auto no_collate = [](MiniBatch batch, const Deadline&) -> Result<MiniBatch> { return batch; };
  NodeLoaderOptions options = NodeOptions();
  options.sampled_by = SampledBy::kSamplers;
  const auto refusal = [&](const DistGraph& of, const auto& nodes) {
    return DistNodeDataLoader::Make(of, nodes, options, no_collate).status();
  };
  const Status of_list = refusal(*graph, std::vector<GlobalNodeId>{GlobalNodeId(1)});
  EXPECT_EQ(of_list.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(of_list.message(), HasSubstr("not lists or the share of one rank"));
  EXPECT_THAT(refusal(*graph, NodeShare{.nodes = {GlobalNodeId(1)}, .largest = 1}).message(),
              HasSubstr("not lists or the share of one rank"));
  NodesOfSplit tests = Nodes();
  tests.part = graph::SplitPartName::kTest;
  EXPECT_THAT(refusal(*graph, tests).message(), HasSubstr("serve only batches of training seeds"));
  EXPECT_EQ(refusal(*graph, NodesOfSplit{.split = "none"}).code(), StatusCode::kNotFound);
  const Status alone = refusal(*testing::GraphOfRank(partitions_, 0, 1), Nodes());
  EXPECT_EQ(alone.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(alone.message(), HasSubstr("ESPALIER_SAMPLERS is not set"));

  EdgeLoaderOptions of_edges = EdgeOptions();
  of_edges.sampled_by = SampledBy::kSamplers;
  const auto list = ReadSplitEdges(*graph, Edges().types.front(), Edges().split, graph::SplitPartName::kTrain);
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_THAT(DistEdgeDataLoader::Make(*graph, *list, of_edges, no_collate).status().message(),
              HasSubstr("not lists or the share of one rank"));
}

TEST_P(SamplerLoadersTest, SamplersReceiveJobName) {
  server::SamplerServerOptions of_job;
  of_job.job = "cora";
  of_job.admit = [](const messages::StreamPlan& stream) {
    return stream.job == "cora" ? Status() : FailedPrecondition("a stream of job '" + stream.job + "'");
  };
  const testing::ServedSamplers samplers(partitions_, 1, of_job);
  Context context;
  context.session.partition_key = testing::kPartitionKey;
  context.session.job = "cora";
  context.samplers = samplers.addresses();
  const DistGraph graph("test", partitions_, context);
  NodeLoaderOptions here = NodeOptions();
  here.batch_size = partitions_->description().splits.front().train / 4 + 1;
  NodeLoaderOptions there = here;
  there.sampled_by = SampledBy::kSamplers;
  ExpectSameBatches(BatchesOfNodes(graph, Nodes(), there), BatchesOfNodes(graph, Nodes(), here));
}

// The queries of this program have a timeout of ten minutes; a new epoch and the destructor do not wait for them.
TEST_P(SamplerLoadersTest, DoNotWaitForAbandonedEpoch) {
  testing::ServedSamplers samplers(partitions_, 1);
  const auto graph = testing::GraphOfRank(partitions_, 0, 1, samplers.addresses());
  samplers.Kill(0);
  NodeLoaderOptions options = NodeOptions();
  options.sampled_by = SampledBy::kSamplers;
  auto loader = DistNodeDataLoader::Make(*graph, Nodes(), options,
                                         [](MiniBatch batch, const Deadline&) -> Result<MiniBatch> { return batch; });
  ASSERT_TRUE(loader.ok()) << loader.status().ToString();
  const Timer timer;
  ASSERT_TRUE((*loader)->StartEpoch(0).ok());
  ASSERT_TRUE((*loader)->StartEpoch(1).ok());
  loader->reset();
  EXPECT_LT(timer.Seconds(), 300);
}

// Samplers of another job: their refusal is returned with the first batch.
TEST_P(SamplerLoadersTest, RefuseBatchesThatJobOfSamplersLacks) {
  server::SamplerServerOptions of_another_job;
  of_another_job.admit = [](const messages::StreamPlan&) { return FailedPrecondition("a stream of another job"); };
  const testing::ServedSamplers samplers(partitions_, 1, of_another_job);
  const auto graph = testing::GraphOfRank(partitions_, 0, 1, samplers.addresses());
  NodeLoaderOptions options = NodeOptions();
  options.sampled_by = SampledBy::kSamplers;
  const auto loader = DistNodeDataLoader::Make(
      *graph, Nodes(), options, [](MiniBatch batch, const Deadline&) -> Result<MiniBatch> { return batch; });
  ASSERT_TRUE(loader.ok()) << loader.status().ToString();
  ASSERT_TRUE((*loader)->StartEpoch(0).ok());
  const Status refused = (*loader)->Next().status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("a stream of another job"));
}

}  // namespace
}  // namespace espalier::client
