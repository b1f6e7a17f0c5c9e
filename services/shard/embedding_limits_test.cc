// Limits of learnable rows on a partition: number of embeddings, waiting gradients, memory; and StepGradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <optional>

#include "services/shard/embeddings.h"
#include "services/shard/testing/plain_rows.h"

namespace espalier::shard {
namespace {

using testing::Descent;
using testing::FiftyNodes;
using ::testing::HasSubstr;
using testing::MakeGradients;

TEST(EmbeddingLimitsTest, NumberOfEmbeddingsPerJobIsLimited) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  MutableTensors tensors(book, partitions[0], {.max_bytes = 1 << 20, .max_rows_per_request = 100});
  Embeddings limited(tensors, {.max_waiting_bytes = 1 << 20, .max_rows_per_request = 100, .max_embeddings_per_job = 2});
  const auto create = [&](const std::string& job, const std::string& name) {
    // The largest number of trainers: they must need no memory before they send gradients.
    sampler::EmbeddingSpec spec = Descent(65'536);
    spec.id.job = job;
    spec.id.name = name;
    std::optional<Status> created;
    limited.Create(spec, Soon(), [&](Status status) { created = std::move(status); });
    return *created;
  };
  EXPECT_TRUE(create("a", "first").ok());
  EXPECT_TRUE(create("a", "second").ok());
  EXPECT_TRUE(create("a", "second").ok()) << "the same again";
  const uint64_t of_two = tensors.SizeBytes();
  const Status third = create("a", "third");
  EXPECT_EQ(third.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(third.message(), HasSubstr("the job already has 2 tables of learnable rows"));
  EXPECT_EQ(tensors.SizeBytes(), of_two) << "nothing is left of it";
  EXPECT_TRUE(create("b", "third").ok());
}

// One thread ends the waits for all embeddings, each at its own deadline.
TEST(EmbeddingLimitsTest, EachWaitEndsAtItsOwnDeadline) {
  VersionWaits waits;
  const Result<uint64_t> first = waits.Open(0), second = waits.Open(7);
  ASSERT_TRUE(first.ok() && second.ok());
  std::promise<Status> late, closed, reached;
  const auto to = [](std::promise<Status>& promise) {
    return [&](Status status) { promise.set_value(std::move(status)); };
  };
  waits.Await(*first, 1, Soon(), to(closed));
  waits.Await(*second, 8, Deadline::After(std::chrono::milliseconds(1)), to(late));
  EXPECT_EQ(late.get_future().get().code(), StatusCode::kDeadlineExceeded);
  waits.Await(*second, 9, Soon(), to(reached));
  waits.Reach(*second, 9);
  EXPECT_TRUE(reached.get_future().get().ok());
  std::future<Status> of_first = closed.get_future();
  EXPECT_EQ(of_first.wait_for(std::chrono::seconds(0)), std::future_status::timeout) << "others' versions are others'";
  waits.Close(*first);
  EXPECT_EQ(of_first.get().code(), StatusCode::kUnavailable);
  waits.Await(*first, 0, Soon(), [](const Status& status) { EXPECT_EQ(status.code(), StatusCode::kUnavailable); });
}

// A server with memory for one set of rows can create the rows of one incarnation after another.
TEST(EmbeddingLimitsTest, OlderRowsAreFreedBeforeNewerAreCreated) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  MutableTensors tensors(book, partitions[0], {.max_bytes = 1000, .max_rows_per_request = 100});
  Embeddings embeddings(tensors, {.max_waiting_bytes = 1 << 20, .max_rows_per_request = 100});
  sampler::EmbeddingSpec spec = Descent(1);
  spec.optimizer.type = sampler::SparseOptimizerType::kAdagrad;  // 50 rows of 8 bytes, and as much state
  spec.incarnation = 1;
  embeddings.Create(spec, Soon(), [](const Status& created) { EXPECT_EQ(created.ToString(), "OK"); });
  sampler::TensorId of_first = spec.id;
  of_first.incarnation = 1;
  const std::weak_ptr<TensorRows> first = *tensors.Find(of_first);
  std::optional<uint64_t> bytes_when_forgotten;
  const std::vector<LocalRowId> rows = {LocalRowId(7)};
  const std::vector<uint32_t> positions = {0};
  std::vector<float> values(2);
  embeddings.Read(spec.id, 1, rows, {reinterpret_cast<std::byte*>(values.data()), 8, positions}, Soon(),
                  [&](const Status& status) {
                    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
                    EXPECT_TRUE(first.expired());
                    bytes_when_forgotten = tensors.SizeBytes();
                  });
  spec.incarnation = 2;
  embeddings.Create(spec, Soon(), [](const Status& created) { EXPECT_EQ(created.ToString(), "OK"); });
  EXPECT_EQ(bytes_when_forgotten, 0u);
}

// Dropping the tensors frees their memory: no other object holds it.
TEST(EmbeddingLimitsTest, RowsWhoseTensorsAreDroppedAreNotFound) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  MutableTensors tensors(book, partitions[0], {.max_bytes = 1000, .max_rows_per_request = 100});
  Embeddings embeddings(tensors, {.max_waiting_bytes = 1 << 20, .max_rows_per_request = 100});
  embeddings.Create(Descent(1), Soon(), [](const Status& created) { EXPECT_EQ(created.ToString(), "OK"); });
  const std::weak_ptr<TensorRows> rows = *tensors.Find(Descent(1).id);
  tensors.Drop(Descent(1).id, Soon(), [](const Status& dropped) { EXPECT_TRUE(dropped.ok()); });
  EXPECT_TRUE(rows.expired());
  embeddings.Push(Descent(1).id, MakeGradients(0, 0, {LocalRowId(1)}, 1), Soon(),
                  [](const Status& pushed) { EXPECT_EQ(pushed.code(), StatusCode::kNotFound); });
  const std::vector<LocalRowId> requested = {LocalRowId(1)};
  const std::vector<uint32_t> positions = {0};
  std::vector<float> values(2);
  embeddings.Read(Descent(1).id, 0, requested, {reinterpret_cast<std::byte*>(values.data()), 8, positions}, Soon(),
                  [](const Status& read) { EXPECT_EQ(read.code(), StatusCode::kNotFound); });
}

TEST(EmbeddingLimitsTest, PendingGradientsHaveLimit) {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  const auto shard = GraphShard::Make(book, std::move(partitions[0]), {.waiting_gradient_bytes = 2000});
  ASSERT_TRUE(shard.ok()) << shard.status().ToString();
  sampler::PartitionEmbeddings& limited = (*shard)->embeddings();
  limited.Create(Descent(2), Soon(), [](const Status& created) { EXPECT_EQ(created.ToString(), "OK"); });
  Status refused;
  uint32_t taken = 0;
  for (; refused.ok() && taken < 100; ++taken) {
    sampler::GradientPiece piece = MakeGradients(0, 0, {}, 0);
    piece.piece = taken;
    piece.num_pieces = 100;
    limited.Push(Descent(2).id, std::move(piece), Soon(), [&](Status status) { refused = std::move(status); });
  }
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << taken << " empty pieces were taken";
  EXPECT_THAT(refused.message(), HasSubstr("2000"));
}

// The limit applies to all embeddings together. A piece that is stored can be repeated while the budget is used up, and
// applying the step releases the budget.
TEST(EmbeddingLimitsTest, PendingGradientsShareLimitAndRepetitionsAreFree) {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  const auto shard = GraphShard::Make(book, std::move(partitions[0]), {.waiting_gradient_bytes = 5000});
  ASSERT_TRUE(shard.ok()) << shard.status().ToString();
  sampler::PartitionEmbeddings& limited = (*shard)->embeddings();
  sampler::EmbeddingSpec other = Descent(2);
  other.id.name = "other";
  for (const sampler::EmbeddingSpec& spec : {Descent(2), other}) {
    limited.Create(spec, Soon(), [](const Status& created) { ASSERT_EQ(created.ToString(), "OK"); });
  }
  const auto push = [&](const sampler::EmbeddingSpec& spec, uint64_t step, uint32_t rank) {
    std::optional<Status> pushed;
    limited.Push(spec.id, MakeGradients(step, rank, std::vector<LocalRowId>(250, LocalRowId(1)), 1), Soon(),
                 [&](Status status) { pushed = std::move(status); });
    return *pushed;
  };
  ASSERT_TRUE(push(Descent(2), 0, 0).ok());
  EXPECT_EQ(push(other, 0, 0).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(push(Descent(2), 0, 0).ToString(), "OK") << "it was there";
  std::optional<Status> marker;
  limited.Push(Descent(2).id, MakeGradients(0, 1, {}, 0), Soon(), [&](Status status) { marker = std::move(status); });
  ASSERT_TRUE(marker->ok()) << "the step is applied";
  EXPECT_EQ(push(other, 0, 0).ToString(), "OK");
}

// Gradients for the next step do not use the budget of the current step, for which other embeddings still receive
// gradients.
TEST(EmbeddingLimitsTest, StepsHaveSeparateLimits) {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  const auto shard = GraphShard::Make(book, std::move(partitions[0]), {.waiting_gradient_bytes = 5000});
  ASSERT_TRUE(shard.ok()) << shard.status().ToString();
  sampler::PartitionEmbeddings& limited = (*shard)->embeddings();
  const sampler::EmbeddingSpec ahead = Descent(2);
  sampler::EmbeddingSpec behind = Descent(2);
  behind.id.name = "behind";
  for (const sampler::EmbeddingSpec& spec : {ahead, behind}) {
    limited.Create(spec, Soon(), [](const Status& created) { ASSERT_EQ(created.ToString(), "OK"); });
  }
  const auto push = [&](const sampler::EmbeddingSpec& spec, uint64_t step, uint32_t rank, size_t count) {
    std::optional<Status> pushed;
    limited.Push(spec.id, MakeGradients(step, rank, std::vector<LocalRowId>(count, LocalRowId(1)), 1), Soon(),
                 [&](Status status) { pushed = std::move(status); });
    return *pushed;
  };
  for (uint64_t step = 0; step < 4; step += 2) {
    for (const uint32_t rank : {0u, 1u}) ASSERT_EQ(push(ahead, step, rank, 0).ToString(), "OK");
    ASSERT_EQ(push(ahead, step + 1, 0, 250).ToString(), "OK") << "step " << step << " is applied";
    EXPECT_EQ(push(behind, step, 0, 250).ToString(), "OK") << "alone it fits";
    ASSERT_EQ(push(behind, step, 1, 0).ToString(), "OK");
    EXPECT_EQ(push(behind, step + 1, 0, 250).code(), StatusCode::kResourceExhausted) << "both of one step do not";
    ASSERT_EQ(push(ahead, step + 1, 1, 0).ToString(), "OK");
    ASSERT_EQ(push(behind, step + 1, 0, 0).ToString(), "OK");
    ASSERT_EQ(push(behind, step + 1, 1, 0).ToString(), "OK");
  }
}

// Learning rates that two machines compute with cosines may differ in the last bit: the rate of rank 0 applies, in any
// order of arrival.
TEST(EmbeddingLimitsTest, UsesLearningRateOfRankZero) {
  const double rate = 0.1, other = std::nextafter(rate, 1.0);
  for (const uint32_t first : {0u, 1u}) {
    StepGradients step(2, std::make_shared<ByteBudget>(1 << 20));
    for (const uint32_t rank : {first, 1 - first}) {
      sampler::GradientPiece piece = MakeGradients(0, rank, {}, 0);
      piece.learning_rate = rank == 0 ? rate : other;
      ASSERT_TRUE(step.Add(std::move(piece)).ok());
    }
    EXPECT_TRUE(step.IsComplete());
    EXPECT_EQ(step.learning_rate(), rate);
  }
  StepGradients step(2, std::make_shared<ByteBudget>(1 << 20));
  ASSERT_TRUE(step.Add(MakeGradients(0, 0, {}, 0)).ok());
  sampler::GradientPiece piece = MakeGradients(0, 1, {}, 0);
  piece.learning_rate = 0.5 + 1e-9;
  EXPECT_THAT(step.Add(std::move(piece)).message(), HasSubstr("0.50000000"));
}

}  // namespace
}  // namespace espalier::shard
