// Learnable rows in this process and on servers, for several numbers of partitions: the same steps give the same bits.
#include "services/sampler/routing/embedding_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <numeric>
#include <thread>

#include "services/base/philox.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using sampler::EmbeddingSpec;
using sampler::SparseOptimizerType;
using ::testing::HasSubstr;

constexpr uint32_t kWidth = 6;
const NodeTypeId kType(0);

EmbeddingSpec AdagradRows(uint32_t num_trainers, uint64_t incarnation = 0) {
  return {.id = {.rows = sampler::RowSpace::Nodes(kType), .name = "emb"},
          .width = kWidth,
          .initializer = sampler::Initializer::Uniform(-1, 1, 7),
          .optimizer = {.type = SparseOptimizerType::kAdagrad},
          .num_trainers = num_trainers,
          .incarnation = incarnation};
}

std::unique_ptr<sampler::PartitionedGraph> RemoteGraph(const testing::ServedGraph& served, size_t reply_bytes) {
  std::vector<std::shared_ptr<sampler::PartitionAccess>> partitions;
  for (uint32_t p = 0; p < served.local_graph().book().num_partitions(); ++p) {
    partitions.push_back(served.Remote(p, reply_bytes));
  }
  return std::make_unique<sampler::PartitionedGraph>(served.local_graph().description(), std::move(partitions));
}

std::vector<GlobalRowId> RowsOfNodes(const std::vector<GlobalNodeId>& nodes) {
  std::vector<GlobalRowId> rows;
  for (const GlobalNodeId node : nodes) rows.emplace_back(node.value);
  return rows;
}

// Original ids of the batch of a trainer in a step, some of them twice; every third batch is empty.
std::vector<OriginalNodeId> DrawBatch(uint32_t rank, uint64_t step, uint64_t num_nodes) {
  PhiloxStream random(17, 100 * step + rank);
  std::vector<OriginalNodeId> batch;
  for (int i = 0; (step + rank) % 3 != 0 && i < 60; ++i) {
    batch.emplace_back(random.NextBelow(static_cast<uint32_t>(num_nodes / 2)));
  }
  return batch;
}

Status PushAndWait(sampler::EmbeddingStore& store, const EmbeddingSpec& spec, const sampler::StepOfTrainer& step,
                   const std::vector<GlobalRowId>& rows, const Tensor& gradients) {
  return testing::AwaitStatus(
      [&](sampler::DoneStatus done) { store.PushGradients(spec, step, rows, gradients, Soon(), std::move(done)); });
}

// Runs the steps of one trainer from `first_step` on: reads the rows of its batch and pushes gradients of slightly more
// than twice the rows.
void Train(sampler::PartitionedGraph& graph, uint32_t rank, uint32_t num_trainers, uint64_t num_steps,
           uint64_t first_step = 0) {
  EmbeddingSpec spec = AdagradRows(num_trainers);
  spec.first_version = first_step;
  sampler::EmbeddingStore& store = graph.embeddings();
  const Status created = store.CreateEmbedding(spec, Soon());
  ASSERT_TRUE(created.ok()) << created.ToString();
  for (uint64_t step = first_step; step < num_steps; ++step) {
    const auto nodes = graph.ToGlobalIds(kType, DrawBatch(rank, step, graph.book().num_nodes(kType)), Soon());
    ASSERT_TRUE(nodes.ok()) << nodes.status().ToString();
    const std::vector<GlobalRowId> rows = RowsOfNodes(*nodes);
    const Result<Tensor> values = store.ReadEmbedding(spec, step, rows, Soon());
    ASSERT_TRUE(values.ok()) << values.status().ToString();
    std::vector<float> gradients;
    for (const float value : values->values<float>()) gradients.push_back(2 * value + 0.1f * static_cast<float>(rank));
    const Status pushed =
        PushAndWait(store, spec, {step, Rank(rank), 0.3}, rows,
                    Tensor::FromVector(std::move(gradients), {static_cast<int64_t>(rows.size()), int64_t{kWidth}}));
    ASSERT_TRUE(pushed.ok()) << pushed.ToString();
  }
}

// Returns all rows in the order of original ids.
std::vector<GlobalRowId> AllRows(sampler::PartitionedGraph& graph) {
  std::vector<OriginalNodeId> all;
  for (uint64_t id = 0; id < graph.book().num_nodes(kType); ++id) all.emplace_back(id);
  const auto nodes = graph.ToGlobalIds(kType, all, Soon());
  ESPALIER_CHECK(nodes.ok()) << nodes.status().ToString();
  return RowsOfNodes(*nodes);
}

// Returns all rows in the order of original ids, after `num_steps` steps of `num_trainers` concurrent trainers.
std::vector<float> Trained(sampler::PartitionedGraph& graph, uint32_t num_trainers, uint64_t num_steps) {
  {
    std::vector<std::jthread> trainers;
    for (uint32_t rank = 0; rank < num_trainers; ++rank) {
      trainers.emplace_back([&graph, rank, num_trainers, num_steps] { Train(graph, rank, num_trainers, num_steps); });
    }
  }
  const auto rows = graph.embeddings().ReadEmbedding(AdagradRows(num_trainers), num_steps, AllRows(graph), Soon());
  EXPECT_TRUE(rows.ok()) << rows.status().ToString();
  if (!rows.ok()) return {};
  return {rows->values<float>().begin(), rows->values<float>().end()};
}

TEST(EmbeddingStoreTest, GivesSameBitsForAnyPartitioningLocallyAndRemotely) {
  for (const uint32_t num_trainers : {1, 3}) {
    const testing::ServedGraph whole(testing::SmallGraph(), 1);
    const std::vector<float> expected = Trained(whole.local_graph(), num_trainers, 7);
    const testing::ServedGraph untrained(testing::SmallGraph(), 1);
    ASSERT_NE(expected, Trained(untrained.local_graph(), num_trainers, 0)) << "the test moves nothing";
    for (const uint32_t num_partitions : {1, 2, 3}) {
      const testing::ServedGraph local(testing::SmallGraph(), num_partitions);
      EXPECT_EQ(Trained(local.local_graph(), num_trainers, 7), expected) << num_partitions << " partitions";
      const testing::ServedGraph served(testing::SmallGraph(), num_partitions);
      // Pieces of five rows.
      EXPECT_EQ(Trained(*RemoteGraph(served, 5 * kWidth * sizeof(float)), num_trainers, 7), expected)
          << num_partitions << " servers";
    }
  }
}

TEST(EmbeddingStoreTest, RowsAndStateResumeOverOtherPartitions) {
  const testing::ServedGraph whole(testing::SmallGraph(), 1);
  const std::vector<float> expected = Trained(whole.local_graph(), 1, 7);
  const testing::ServedGraph two(testing::SmallGraph(), 2);
  const auto before = RemoteGraph(two, 5 * kWidth * sizeof(float));
  Trained(*before, 1, 3);
  const auto values = before->embeddings().ReadEmbedding(AdagradRows(1), 3, AllRows(*before), Soon());
  const auto state = before->embeddings().ReadState(AdagradRows(1), AllRows(*before), Soon());
  ASSERT_TRUE(values.ok() && state.ok()) << values.status().ToString() << state.status().ToString();
  ASSERT_EQ(state->shape()[1], int64_t{kWidth});

  const testing::ServedGraph three(testing::SmallGraph(), 3);
  const auto after = RemoteGraph(three, 5 * kWidth * sizeof(float));
  EmbeddingSpec spec = AdagradRows(1);
  spec.first_version = 3;
  ASSERT_TRUE(after->embeddings().CreateEmbedding(spec, Soon()).ok());
  const Status restored = after->embeddings().Restore(spec, AllRows(*after), *values, *state, Soon());
  ASSERT_TRUE(restored.ok()) << restored.ToString();
  Train(*after, 0, 1, 7, 3);
  const auto rows = after->embeddings().ReadEmbedding(spec, 7, AllRows(*after), Soon());
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ(std::vector<float>(rows->values<float>().begin(), rows->values<float>().end()), expected);
}

TEST(EmbeddingStoreTest, RestartedServerReportsLostRows) {
  testing::ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = RemoteGraph(served, rpc::kPreferredReplyBytes);
  ASSERT_TRUE(graph->embeddings().CreateEmbedding(AdagradRows(1), Soon()).ok());
  served.Restart(1);
  std::vector<GlobalRowId> rows;
  for (uint64_t row = 0; row < graph->book().num_nodes(kType); ++row) rows.emplace_back(row);

  const Status read = graph->embeddings().ReadEmbedding(AdagradRows(1), 0, rows, Soon()).status();
  EXPECT_EQ(read.code(), StatusCode::kNotFound);
  EXPECT_THAT(read.message(), HasSubstr("partition 1"));
  const Status pushed =
      PushAndWait(graph->embeddings(), AdagradRows(1), {0, Rank(0), 0.1}, {}, Tensor::Zeros(DType::kF32, {0, kWidth}));
  EXPECT_EQ(pushed.code(), StatusCode::kNotFound);
}

TEST(EmbeddingStoreTest, NewerIncarnationStartsEmptyAndOlderIsRefused) {
  testing::ServedGraph served(testing::SmallGraph(), 1);
  const auto client_of = [&](uint64_t incarnation) {
    RemotePartitionOptions options;
    options.partition_key = testing::kPartitionKey;
    options.partition = PartitionId(0);
    options.incarnation = std::make_shared<Incarnation>(incarnation);
    std::vector<std::shared_ptr<sampler::PartitionAccess>> partitions = {
        std::make_shared<RemotePartition>(served.MakePeer(0), served.local_graph().book(), options)};
    return std::make_unique<sampler::PartitionedGraph>(served.local_graph().description(), std::move(partitions));
  };
  const Tensor nothing = Tensor::Zeros(DType::kF32, {0, kWidth});
  const auto older = client_of(1), newer = client_of(2);
  ASSERT_TRUE(older->embeddings().CreateEmbedding(AdagradRows(1, 1), Soon()).ok());
  ASSERT_TRUE(PushAndWait(older->embeddings(), AdagradRows(1, 1), {0, Rank(0), 0.1}, {}, nothing).ok());

  ASSERT_TRUE(newer->embeddings().CreateEmbedding(AdagradRows(1, 2), Soon()).ok());
  const std::vector<GlobalRowId> rows = {GlobalRowId(0)};
  EXPECT_TRUE(newer->embeddings().ReadEmbedding(AdagradRows(1, 2), 0, rows, Soon()).ok()) << "version 0 again";
  EXPECT_EQ(PushAndWait(older->embeddings(), AdagradRows(1, 1), {1, Rank(0), 0.1}, {}, nothing).code(),
            StatusCode::kAborted);
}

TEST(EmbeddingStoreTest, ReadOfFutureVersionEndsAtDeadline) {
  testing::ServedGraph served(testing::SmallGraph(), 1);
  const auto graph = RemoteGraph(served, rpc::kPreferredReplyBytes);
  ASSERT_TRUE(graph->embeddings().CreateEmbedding(AdagradRows(1), Soon()).ok());
  const std::vector<GlobalRowId> rows = {GlobalRowId(0)};
  const Status late = graph->embeddings()
                          .ReadEmbedding(AdagradRows(1), 1, rows, Deadline::After(std::chrono::milliseconds(200)))
                          .status();
  // The deadline of the client or that of the server passes first; the error of the server is retried until the
  // client's deadline.
  const bool is_late = late.code() == StatusCode::kDeadlineExceeded || late.code() == StatusCode::kUnavailable;
  EXPECT_TRUE(is_late) << late.ToString();
}

// The command of a killed run is started again: same incarnation, same servers, new rows.
TEST(EmbeddingStoreTest, NewRunReplacesKilledRun) {
  testing::ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = RemoteGraph(served, rpc::kPreferredReplyBytes);
  sampler::EmbeddingStore& store = graph->embeddings();
  const auto of_run = [](uint64_t run) {
    EmbeddingSpec spec = AdagradRows(2);
    spec.id.creation = run << 32;
    return spec;
  };
  const std::vector<GlobalRowId> rows = {GlobalRowId(0)};
  const Tensor large = Tensor::FromVector(std::vector<float>(kWidth, 100), {1, int64_t{kWidth}});
  const Tensor nothing = Tensor::Zeros(DType::kF32, {0, kWidth});
  ASSERT_TRUE(store.CreateEmbedding(of_run(1), Soon()).ok());
  const Result<Tensor> first_values = store.ReadEmbedding(of_run(1), 0, rows, Soon());
  const Result<Tensor> first_state = store.ReadState(of_run(1), rows, Soon());
  ASSERT_TRUE(first_values.ok() && first_state.ok());
  ASSERT_TRUE(PushAndWait(store, of_run(1), {0, Rank(1), 0.1}, rows, large).ok());

  ASSERT_TRUE(store.CreateEmbedding(of_run(2), Soon()).ok());
  EXPECT_EQ(PushAndWait(store, of_run(1), {0, Rank(0), 0.1}, {}, nothing).code(), StatusCode::kAborted);
  EXPECT_EQ(store.ReadEmbedding(of_run(1), 0, rows, Soon()).status().code(), StatusCode::kAborted);
  EXPECT_EQ(store.ReadState(of_run(1), rows, Soon()).status().code(), StatusCode::kNotFound);
  for (const uint32_t rank : {0u, 1u}) {
    ASSERT_TRUE(PushAndWait(store, of_run(2), {0, Rank(rank), 0.1}, {}, nothing).ok());
  }
  const Result<Tensor> values = store.ReadEmbedding(of_run(2), 1, rows, Soon());
  ASSERT_TRUE(values.ok()) << values.status().ToString();
  EXPECT_TRUE(std::ranges::equal(values->values<float>(), first_values->values<float>()));
}

}  // namespace
}  // namespace espalier::client
