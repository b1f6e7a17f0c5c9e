// Queries and loaders that are canceled while a server does not respond, and a graph that its users keep alive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <stop_token>
#include <thread>
#include <vector>

#include "services/client/loaders/node_data_loader.h"
#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/open_served.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;
using testing::ServedGraph;

constexpr NodeTypeId kOnlyNodeType(0);
constexpr auto kLong = std::chrono::minutes(10);  // a test that waits for it fails

NodeLoaderOptions FewSeeds(const DistGraph& graph) {
  NodeLoaderOptions options{.seed_type = kOnlyNodeType, .batch_size = 16};
  options.sampling.layers = {{std::vector<int32_t>(graph.schema().num_edge_types(), 5)}};
  return options;
}

std::vector<GlobalNodeId> SomeNodes(const DistGraph& graph) {
  std::vector<GlobalNodeId> nodes;
  for (uint64_t id = 0; id < graph.num_nodes(kOnlyNodeType); id += 7) nodes.emplace_back(id);
  return nodes;
}

std::unique_ptr<DistNodeDataLoader> MakeLoader(const DistGraph& graph) {
  auto loader = DistNodeDataLoader::Make(
      graph, SomeNodes(graph), FewSeeds(graph),
      [](sampler::MiniBatch batch, const Deadline&) -> Result<sampler::MiniBatch> { return batch; });
  ESPALIER_CHECK(loader.ok()) << loader.status().ToString();
  return *std::move(loader);
}

TEST(CancelledCallsTest, StopEndsQueryAndKeepsGraphUsable) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = testing::OpenServed(served.addresses(), kLong);
  const std::vector<GlobalNodeId> nodes = SomeNodes(*graph);
  const auto expected = graph->GatherNodeRows(kOnlyNodeType, "node-feat", nodes);
  ASSERT_TRUE(expected.ok());

  served.Hang(1);
  std::stop_source stop;
  Status gathered, sampled, written;
  {
    const Deadline deadline = Deadline::After(kLong).OrStop(stop.get_token());
    std::jthread gathers(
        [&] { gathered = graph->GatherNodeRows(kOnlyNodeType, "node-feat", nodes, deadline).status(); });
    std::jthread samples([&] {
      sampled = graph->SampleNeighbors({{kOnlyNodeType, nodes}}, {{EdgeTypeId(0), 3}}, {}, deadline).status();
    });
    std::jthread creates([&] {
      std::vector<std::byte> out(expected->size_bytes());
      written = graph->GatherNodeRowsInto(kOnlyNodeType, "node-feat", nodes, out, deadline);
    });
    served.AwaitCall(1);
    stop.request_stop();
  }
  for (const Status& status : {gathered, sampled, written}) {
    EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  }
  // A call that begins after the stop ends as well.
  EXPECT_EQ(graph->InDegrees(EdgeTypeId(0), nodes, Deadline::After(kLong).OrStop(stop.get_token())).status().code(),
            StatusCode::kCancelled);

  served.Restart(1);
  const auto again = graph->GatherNodeRows(kOnlyNodeType, "node-feat", nodes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(std::memcmp(again->bytes(), expected->bytes(), expected->size_bytes()), 0);
}

TEST(CancelledCallsTest, ALoaderThatWaitsIsCancelledAndStartsAgain) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = testing::OpenServed(served.addresses(), kLong);
  const auto loader = MakeLoader(*graph);
  served.Hang(0);
  ASSERT_TRUE(loader->StartEpoch(0).ok());
  served.AwaitCall(0);
  EXPECT_EQ(loader->NextBefore(Deadline::After(std::chrono::milliseconds(0))).status().code(),
            StatusCode::kDeadlineExceeded);
  std::stop_source stop;
  Status stopped, cancelled;
  {
    std::jthread waits([&] { stopped = loader->NextBefore(Deadline::After(kLong).OrStop(stop.get_token())).status(); });
    stop.request_stop();
  }
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled) << stopped.ToString();
  {
    std::jthread waits([&] { cancelled = loader->Next().status(); });
    loader->Cancel();
  }
  EXPECT_EQ(cancelled.code(), StatusCode::kCancelled) << cancelled.ToString();
  EXPECT_EQ(loader->Next().status().code(), StatusCode::kCancelled);

  served.Restart(0);
  ASSERT_TRUE(loader->StartEpoch(0).ok());
  const auto batch = loader->Next();
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_TRUE(batch->has_value());
}

// Without the cancellation the destructor of the loader would wait for the call's timeout.
TEST(CancelledCallsTest, ALoaderIsDestroyedWhileAServerDoesNotAnswer) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto graph = testing::OpenServed(served.addresses(), kLong);
  served.Hang(0);
  const auto loader = MakeLoader(*graph);
  ASSERT_TRUE(loader->StartEpoch(0).ok());
  served.AwaitCall(0);
}

TEST(CancelledCallsTest, QueriesOfCollateEndWithTheEpoch) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto graph = testing::OpenServed(served.addresses(), kLong);
  std::atomic<bool> hangs = false;
  std::promise<void> hung;
  auto loader =
      NodeDataLoader<Tensor>::Make(*graph, SomeNodes(*graph), FewSeeds(*graph),
                                   [&](const sampler::MiniBatch& batch, const Deadline& deadline) -> Result<Tensor> {
                                     if (!hangs.exchange(true)) {
                                       served.Hang(0);
                                       hung.set_value();
                                     }
                                     return graph->GatherNodeRows(kOnlyNodeType, "node-feat", batch.nodes[0], deadline);
                                   });
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->StartEpoch(0).ok());
  hung.get_future().wait();
  served.AwaitCall(0);
  (*loader)->Cancel();
  EXPECT_EQ((*loader)->Next().status().code(), StatusCode::kCancelled);
  loader->reset();
}

TEST(CancelledCallsTest, DoesNotReturnReadyBatchesAfterCancel) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto graph = testing::OpenServed(served.addresses(), kLong);
  const auto loader = MakeLoader(*graph);
  ASSERT_TRUE(loader->StartEpoch(0).ok());
  ASSERT_TRUE(loader->Next().ok());
  loader->Cancel();
  EXPECT_EQ(loader->Next().status().code(), StatusCode::kCancelled);
  // A Cancel before the next epoch has no effect on it.
  ASSERT_TRUE(loader->StartEpoch(1).ok());
  EXPECT_TRUE(loader->Next().ok());
}

TEST(SharedGraphTest, LoadersAndTensorsKeepGraphAlive) {
  ServedGraph served(testing::SmallGraph(), 2);
  auto graph = testing::OpenServed(served.addresses());
  const auto loader = MakeLoader(*graph);
  auto tensor =
      DistTensor::Create(*graph, {.rows = RowSpace::Nodes(kOnlyNodeType), .dtype = DType::kI64, .name = "kept"});
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  const DistGraph copy = *graph;
  graph.reset();

  ASSERT_TRUE(loader->StartEpoch(0).ok());
  EXPECT_TRUE(loader->Next().ok());
  const std::array rows{GlobalRowId(3)};
  ASSERT_TRUE(tensor->AddRows(rows, Tensor::FromVector(std::vector<int64_t>{4})).ok());
  EXPECT_EQ(tensor->Sum()->ValueAsInt(0), 4);
  EXPECT_TRUE(copy.GatherNodeRows(kOnlyNodeType, "node-feat", std::array{GlobalNodeId(1)}).ok());
}

TEST(SharedGraphTest, RowsAreWrittenToCallerMemory) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = testing::OpenServed(served.addresses());
  std::vector<GlobalNodeId> nodes = SomeNodes(*graph);
  nodes.insert(nodes.end(), nodes.begin(), nodes.begin() + 5);  // repeated ones
  auto visits =
      DistTensor::Create(*graph, {.rows = RowSpace::Nodes(kOnlyNodeType), .dtype = DType::kI64, .name = "visits"});
  ASSERT_TRUE(visits.ok());
  const std::array rows{GlobalRowId(7)};
  ASSERT_TRUE(visits->AddRows(rows, Tensor::FromVector(std::vector<int64_t>{2})).ok());
  ASSERT_TRUE(visits->AttachAs("visits").ok());
  for (const std::string column : {"node-feat", "visits"}) {
    const auto expected = graph->GatherNodeRows(kOnlyNodeType, column, nodes);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    std::vector<std::byte> out(expected->size_bytes());
    ASSERT_TRUE(graph->GatherNodeRowsInto(kOnlyNodeType, column, nodes, out).ok());
    EXPECT_EQ(std::memcmp(out.data(), expected->bytes(), out.size()), 0) << column;
    out.pop_back();
    const Status refused = graph->GatherNodeRowsInto(kOnlyNodeType, column, nodes, out);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("'" + column + "'"));
  }
}

TEST(SharedGraphTest, ListsItsSplits) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = testing::OpenServed(served.addresses());
  ASSERT_EQ(graph->node_splits().size(), 1u);
  const auto& split = graph->node_splits().front();
  EXPECT_EQ(graph->SplitNodes(split.node_type, split.split, graph::SplitPartName::kTrain)->size(), split.train);
  ASSERT_EQ(graph->edge_splits().size(), 1u);
  EXPECT_EQ(graph->edge_splits().front().split, "links");
  EXPECT_EQ(graph->edge_splits().front().train, 200u);
}

}  // namespace
}  // namespace espalier::client
