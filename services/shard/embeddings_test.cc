// The step protocol on one partition: versions, waits, repetitions, and what is refused.
#include "services/shard/embeddings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <future>
#include <optional>
#include <thread>

#include "services/graph/generators.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::EmbeddingSpec;
using sampler::GradientPiece;
using sampler::SparseOptimizerType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

graph::SourceGraph FiftyNodes() {
  graph::PowerLawOptions options;
  options.num_nodes = 50;
  options.num_edges = 200;
  options.seed = 3;
  Result<graph::SourceGraph> graph = graph::GeneratePowerLawGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

// Rows of two values that begin at 1, changed by plain gradient descent.
EmbeddingSpec Descent(uint32_t num_trainers) {
  return {.id = {.rows = sampler::RowSpace::Nodes(NodeTypeId(0)), .name = "emb"},
          .width = 2,
          .initializer = sampler::Initializer::Constant(1),
          .optimizer = {.type = SparseOptimizerType::kSgd},
          .num_trainers = num_trainers};
}

GradientPiece GradientsOf(uint64_t step, uint32_t rank, std::vector<LocalRowId> rows, float value) {
  GradientPiece piece{.step = step, .rank = Rank(rank), .learning_rate = 0.5, .rows = std::move(rows)};
  const auto count = static_cast<int64_t>(piece.rows.size());
  piece.gradients = Tensor::FromVector(std::vector<float>(piece.rows.size() * 2, value), {count, 2});
  return piece;
}

class EmbeddingsTest : public ::testing::Test {
 protected:
  Status Create(const EmbeddingSpec& spec) {
    std::optional<Status> created;
    embeddings().Create(spec, Soon(), [&](Status status) { created = std::move(status); });
    return *created;
  }
  Status Push(GradientPiece piece) {
    std::optional<Status> pushed;
    embeddings().Push(Descent(1).id, std::move(piece), Soon(), [&](Status status) { pushed = std::move(status); });
    return *pushed;
  }
  // A read under way; its answer may come later.
  struct Reading {
    std::vector<LocalRowId> rows;
    std::vector<uint32_t> positions;
    std::vector<float> values;
    std::promise<Status> answer;
    std::future<Status> status = answer.get_future();
  };
  std::unique_ptr<Reading> StartRead(uint64_t version, std::vector<LocalRowId> rows, Deadline deadline = Soon()) {
    auto reading = std::make_unique<Reading>();
    reading->rows = std::move(rows);
    for (uint32_t i = 0; i < reading->rows.size(); ++i) reading->positions.push_back(i);
    reading->values.resize(reading->rows.size() * 2);
    embeddings().Read(Descent(1).id, version, reading->rows,
                      {reinterpret_cast<std::byte*>(reading->values.data()), 2 * sizeof(float), reading->positions},
                      deadline, [r = reading.get()](Status status) { r->answer.set_value(std::move(status)); });
    return reading;
  }
  std::vector<float> ValuesAt(uint64_t version, std::vector<LocalRowId> rows) {
    const auto reading = StartRead(version, std::move(rows));
    EXPECT_EQ(reading->status.get().ToString(), "OK");
    return reading->values;
  }
  sampler::PartitionEmbeddings& embeddings() { return graph.shards[0]->embeddings(); }

  testing::TestGraph graph = testing::MakeTestGraph(FiftyNodes(), 1, 1);
};

TEST_F(EmbeddingsTest, TheLastTrainerOfAStepMakesTheNextVersion) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  EXPECT_THAT(ValuesAt(0, {LocalRowId(3)}), ElementsAre(1, 1));

  ASSERT_TRUE(Push(GradientsOf(0, 1, {LocalRowId(3), LocalRowId(4)}, 1)).ok());
  EXPECT_THAT(ValuesAt(0, {LocalRowId(3)}), ElementsAre(1, 1)) << "trainer 0 may still read version 0";
  ASSERT_TRUE(Push(GradientsOf(0, 0, {LocalRowId(3)}, 0.5f)).ok());

  EXPECT_THAT(ValuesAt(1, {LocalRowId(3), LocalRowId(4), LocalRowId(5)}), ElementsAre(0.25f, 0.25f, 0.5f, 0.5f, 1, 1));
}

TEST_F(EmbeddingsTest, AReadWaitsForItsVersion) {
  ASSERT_TRUE(Create(Descent(1)).ok());
  const auto first = StartRead(1, {LocalRowId(7)}), second = StartRead(2, {LocalRowId(7)});
  EXPECT_EQ(first->status.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

  ASSERT_TRUE(Push(GradientsOf(0, 0, {LocalRowId(7)}, 1)).ok());
  ASSERT_TRUE(first->status.get().ok());
  EXPECT_THAT(first->values, ElementsAre(0.5f, 0.5f));
  EXPECT_EQ(second->status.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

  ASSERT_TRUE(Push(GradientsOf(1, 0, {}, 0)).ok()) << "an empty marker";
  ASSERT_TRUE(second->status.get().ok());
  EXPECT_THAT(second->values, ElementsAre(0.5f, 0.5f));
}

TEST_F(EmbeddingsTest, AWaitEndsAtItsDeadlineAndWhenTheRowsAreDropped) {
  ASSERT_TRUE(Create(Descent(1)).ok());
  const auto late = StartRead(1, {LocalRowId(7)}, Deadline::After(std::chrono::milliseconds(1)));
  const Status status = late->status.get();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("version 1"));

  const auto waiting = StartRead(1, {LocalRowId(7)});
  embeddings().Drop(Descent(1).id, Soon(), [](const Status& dropped) { EXPECT_TRUE(dropped.ok()); });
  EXPECT_EQ(waiting->status.get().code(), StatusCode::kUnavailable);
  EXPECT_EQ(StartRead(0, {LocalRowId(7)})->status.get().code(), StatusCode::kNotFound);
  EXPECT_TRUE(Create(Descent(2)).ok()) << "the names are free again";
}

TEST_F(EmbeddingsTest, RepeatedPiecesAreTakenOnce) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Push(GradientsOf(0, 0, {LocalRowId(1)}, 1)).ok());
  EXPECT_THAT(ValuesAt(0, {LocalRowId(1)}), ElementsAre(1, 1));
  ASSERT_TRUE(Push(GradientsOf(0, 1, {}, 0)).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Push(GradientsOf(0, 0, {LocalRowId(1)}, 1)).ok()) << "after its step";
  EXPECT_THAT(ValuesAt(1, {LocalRowId(1)}), ElementsAre(0.5f, 0.5f));
}

// The pieces of two trainers in every order give the same rows, bit for bit.
TEST_F(EmbeddingsTest, RowsDoNotDependOnWhoComesFirst) {
  const std::vector<float> numbers = {1e8f, 1, -1e8f, 0.25f};
  std::vector<int> order = {0, 1, 2, 3};  // rank and piece
  std::optional<std::vector<float>> expected;
  do {
    ASSERT_TRUE(Create(Descent(2)).ok());
    for (const int which : order) {
      GradientPiece piece =
          GradientsOf(0, static_cast<uint32_t>(which / 2), {LocalRowId(9)}, numbers[static_cast<size_t>(which)]);
      piece.piece = static_cast<uint32_t>(which % 2);
      piece.num_pieces = 2;
      ASSERT_TRUE(Push(std::move(piece)).ok());
    }
    const std::vector<float> values = ValuesAt(1, {LocalRowId(9)});
    if (!expected.has_value()) expected = values;
    EXPECT_EQ(values, *expected);
    embeddings().Drop(Descent(1).id, Soon(), [](const Status&) {});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(EmbeddingsTest, ATrainerMayBeOneStepAhead) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  ASSERT_TRUE(Push(GradientsOf(0, 1, {}, 0)).ok());
  ASSERT_TRUE(Push(GradientsOf(1, 1, {LocalRowId(2)}, 1)).ok());
  const Status too_far = Push(GradientsOf(2, 1, {}, 0));
  EXPECT_EQ(too_far.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(too_far.message(), HasSubstr("step 2"));
  ASSERT_TRUE(Push(GradientsOf(0, 0, {}, 0)).ok());
  EXPECT_THAT(ValuesAt(1, {LocalRowId(2)}), ElementsAre(1, 1));
  ASSERT_TRUE(Push(GradientsOf(1, 0, {}, 0)).ok());
  EXPECT_THAT(ValuesAt(2, {LocalRowId(2)}), ElementsAre(0.5f, 0.5f));
  EXPECT_EQ(StartRead(1, {LocalRowId(2)})->status.get().code(), StatusCode::kFailedPrecondition) << "it is gone";
}

// Trainers that read nothing from this owner: only acknowledgements keep them from running away from it.
TEST_F(EmbeddingsTest, TrainersThatMeetInEveryStepAreNeverTooFarAhead) {
  constexpr uint32_t kTrainers = 3;
  constexpr uint64_t kSteps = 100;
  ASSERT_TRUE(Create(Descent(kTrainers)).ok());
  std::vector<LocalRowId> rows;
  for (uint32_t i = 0; i < 1000; ++i) rows.emplace_back(i % 50);
  std::barrier all_reduce(kTrainers);
  std::vector<Status> errors(kTrainers);
  {
    std::vector<std::jthread> trainers;
    for (uint32_t rank = 0; rank < kTrainers; ++rank) {
      trainers.emplace_back([&, rank] {
        for (uint64_t step = 0; step < kSteps; ++step) {
          all_reduce.arrive_and_wait();
          std::promise<Status> acknowledged;
          embeddings().Push(Descent(1).id, GradientsOf(step, rank, rows, 0.25f), Soon(),
                            [&](Status status) { acknowledged.set_value(std::move(status)); });
          const Status status = acknowledged.get_future().get();
          if (errors[rank].ok()) errors[rank] = status;
        }
      });
    }
  }
  for (const Status& error : errors) EXPECT_EQ(error.ToString(), "OK");
  ValuesAt(kSteps, {LocalRowId(0)});
}

TEST_F(EmbeddingsTest, RowsGoOnAtTheVersionThatTheyAreMadeAt) {
  EmbeddingSpec spec = Descent(1);
  spec.first_version = 5;
  ASSERT_TRUE(Create(spec).ok());
  EXPECT_EQ(StartRead(4, {LocalRowId(2)})->status.get().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(ValuesAt(5, {LocalRowId(2)}), ElementsAre(1, 1));
  ASSERT_TRUE(Push(GradientsOf(4, 0, {LocalRowId(2)}, 1)).ok()) << "in the values already";
  ASSERT_TRUE(Push(GradientsOf(5, 0, {LocalRowId(2)}, 1)).ok());
  EXPECT_THAT(ValuesAt(6, {LocalRowId(2)}), ElementsAre(0.5f, 0.5f));
  spec.first_version = 6;
  EXPECT_EQ(Create(spec).code(), StatusCode::kAlreadyExists);
  spec.id.name = "far";
  spec.first_version = UINT64_MAX;
  EXPECT_EQ(Create(spec).code(), StatusCode::kInvalidArgument);
}

TEST_F(EmbeddingsTest, ANewerIncarnationTakesThePlaceOfAllThatOlderOnesLeft) {
  EmbeddingSpec older = Descent(1), newer = Descent(1);
  older.incarnation = 1;
  newer.incarnation = 2;
  newer.id.name = "other";
  ASSERT_TRUE(Create(older).ok());
  const auto waiting = StartRead(1, {LocalRowId(7)});
  ASSERT_TRUE(Create(newer).ok());
  EXPECT_EQ(waiting->status.get().code(), StatusCode::kUnavailable);
  EXPECT_EQ(StartRead(0, {LocalRowId(7)})->status.get().code(), StatusCode::kNotFound);
  EXPECT_EQ(Create(older).code(), StatusCode::kAborted);
}

// A server that has memory for one set of rows takes those of every incarnation.
TEST_F(EmbeddingsTest, OlderRowsAreGoneBeforeNewerOnesAreMade) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  MutableTensors tensors(book, partitions[0], {.max_bytes = 1000, .max_rows_per_request = 100});
  Embeddings embeddings(tensors, {.max_waiting_bytes = 1 << 20, .max_rows_per_request = 100});
  EmbeddingSpec spec = Descent(1);
  spec.optimizer.type = SparseOptimizerType::kAdagrad;  // 50 rows of 8 bytes, and as much state
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

// Their memory is free whoever drops the tensor: nothing holds it beside the tensors.
TEST_F(EmbeddingsTest, RowsWhoseTensorsAreDroppedAreNotFound) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  MutableTensors tensors(book, partitions[0], {.max_bytes = 1000, .max_rows_per_request = 100});
  Embeddings embeddings(tensors, {.max_waiting_bytes = 1 << 20, .max_rows_per_request = 100});
  embeddings.Create(Descent(1), Soon(), [](const Status& created) { EXPECT_EQ(created.ToString(), "OK"); });
  const std::weak_ptr<TensorRows> rows = *tensors.Find(Descent(1).id);
  tensors.Drop(Descent(1).id, Soon(), [](const Status& dropped) { EXPECT_TRUE(dropped.ok()); });
  EXPECT_TRUE(rows.expired());
  embeddings.Push(Descent(1).id, GradientsOf(0, 0, {LocalRowId(1)}, 1), Soon(),
                  [](const Status& pushed) { EXPECT_EQ(pushed.code(), StatusCode::kNotFound); });
  const std::vector<LocalRowId> asked = {LocalRowId(1)};
  const std::vector<uint32_t> positions = {0};
  std::vector<float> values(2);
  embeddings.Read(Descent(1).id, 0, asked, {reinterpret_cast<std::byte*>(values.data()), 8, positions}, Soon(),
                  [](const Status& read) { EXPECT_EQ(read.code(), StatusCode::kNotFound); });
}

// Trainers that are started by hand once more with the same incarnation, after a run that was killed.
TEST_F(EmbeddingsTest, AnotherRunOfTheSameIncarnationBeginsAnew) {
  const auto of_run = [](uint64_t run) {
    EmbeddingSpec spec = Descent(2);
    spec.id.creation = run << 32;
    return spec;
  };
  const auto push = [&](uint64_t run, GradientPiece piece) {
    std::optional<Status> pushed;
    embeddings().Push(of_run(run).id, std::move(piece), Soon(), [&](Status status) { pushed = std::move(status); });
    return pushed.value_or(Unavailable("no answer"));
  };
  ASSERT_TRUE(Create(of_run(1)).ok());
  ASSERT_TRUE(push(1, GradientsOf(0, 1, {LocalRowId(3)}, 100)).ok()) << "what trainer 1 of the dead run has sent";

  ASSERT_EQ(Create(of_run(2)).ToString(), "OK");
  EXPECT_TRUE(Create(of_run(2)).ok()) << "the other trainer";
  EXPECT_EQ(push(1, GradientsOf(0, 0, {}, 0)).code(), StatusCode::kAborted) << "a late message of the dead run";
  embeddings().Drop(of_run(1).id, Soon(), [](const Status& dropped) { EXPECT_TRUE(dropped.ok()); });
  ASSERT_TRUE(push(2, GradientsOf(0, 0, {LocalRowId(3)}, 1)).ok());
  ASSERT_TRUE(push(2, GradientsOf(0, 1, {}, 0)).ok());
  std::vector<float> values(2);
  const std::vector<LocalRowId> rows = {LocalRowId(3)};
  const std::vector<uint32_t> positions = {0};
  embeddings().Read(of_run(2).id, 1, rows, {reinterpret_cast<std::byte*>(values.data()), 8, positions}, Soon(),
                    [](const Status& read) { EXPECT_EQ(read.ToString(), "OK"); });
  EXPECT_THAT(values, ElementsAre(0.5f, 0.5f)) << "the dead run's gradients are not in them";

  embeddings().Drop(of_run(2).id, Soon(), [](const Status& dropped) { EXPECT_TRUE(dropped.ok()); });
  EXPECT_EQ(Create(of_run(2)).code(), StatusCode::kAborted) << "a Create that comes after its Drop makes nothing";
  EXPECT_TRUE(Create(of_run(3)).ok());
}

// Trainers that create at once: one of them makes the rows, the others wait without holding a thread.
TEST_F(EmbeddingsTest, CreatedAtOnceTheyAreMadeOnce) {
  constexpr int kTrainers = 8;
  std::vector<Status> created(kTrainers);
  {
    std::vector<std::jthread> trainers;
    for (Status& status : created) {
      trainers.emplace_back([&] {
        std::promise<Status> answer;
        embeddings().Create(Descent(kTrainers), Soon(), [&](Status made) { answer.set_value(std::move(made)); });
        status = answer.get_future().get();
      });
    }
  }
  for (const Status& status : created) EXPECT_EQ(status.ToString(), "OK");
}

TEST_F(EmbeddingsTest, RefusesWhatDoesNotFit) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  EXPECT_TRUE(Create(Descent(2)).ok()) << "the same again";
  EXPECT_EQ(Create(Descent(3)).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Push(GradientsOf(0, 2, {}, 0)).code(), StatusCode::kInvalidArgument) << "there is no trainer 2";
  EXPECT_EQ(Push(GradientsOf(0, 0, {LocalRowId(50)}, 1)).code(), StatusCode::kInvalidArgument);
  GradientPiece wide = GradientsOf(0, 0, {LocalRowId(1)}, 1);
  wide.gradients = Tensor::Zeros(DType::kF32, {1, 3});
  EXPECT_THAT(Push(std::move(wide)).message(), HasSubstr("F32 [1, 2]"));
  ASSERT_TRUE(Push(GradientsOf(0, 0, {LocalRowId(1)}, 1)).ok());
  GradientPiece faster = GradientsOf(0, 1, {}, 0);
  faster.learning_rate = 1;
  EXPECT_THAT(Push(std::move(faster)).message(), HasSubstr("learning rate"));
  EXPECT_EQ(StartRead(0, {LocalRowId(50)})->status.get().code(), StatusCode::kInvalidArgument);
  EmbeddingSpec nothing = Descent(1);
  nothing.id.name = "other";
  nothing.width = 0;
  EXPECT_EQ(Create(nothing).code(), StatusCode::kInvalidArgument);
}

TEST_F(EmbeddingsTest, GradientsThatWaitHaveALimit) {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  const auto shard = GraphShard::Make(book, std::move(partitions[0]), {.waiting_gradient_bytes = 2000});
  ASSERT_TRUE(shard.ok()) << shard.status().ToString();
  sampler::PartitionEmbeddings& limited = (*shard)->embeddings();
  limited.Create(Descent(2), Soon(), [](const Status& created) { EXPECT_EQ(created.ToString(), "OK"); });
  Status refused;
  uint32_t taken = 0;
  for (; refused.ok() && taken < 100; ++taken) {
    GradientPiece piece = GradientsOf(0, 0, {}, 0);
    piece.piece = taken;
    piece.num_pieces = 100;
    limited.Push(Descent(2).id, std::move(piece), Soon(), [&](Status status) { refused = std::move(status); });
  }
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << taken << " empty pieces were taken";
  EXPECT_THAT(refused.message(), HasSubstr("2000"));
}

TEST_F(EmbeddingsTest, AJobHasALimitOfThem) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  MutableTensors tensors(book, partitions[0], {.max_bytes = 1 << 20, .max_rows_per_request = 100});
  Embeddings limited(tensors, {.max_waiting_bytes = 1 << 20, .max_rows_per_request = 100, .max_embeddings_per_job = 2});
  const auto create = [&](const std::string& job, const std::string& name) {
    // As many as there may be: it must cost nothing before they send anything.
    EmbeddingSpec spec = Descent(65'536);
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
  EXPECT_THAT(third.message(), HasSubstr("more than 2 of one job"));
  EXPECT_EQ(tensors.SizeBytes(), of_two) << "nothing is left of it";
  EXPECT_TRUE(create("b", "third").ok());
}

// One thread ends the waits of all of them, each at its own deadline.
TEST_F(EmbeddingsTest, EachWaitEndsAtItsOwnDeadline) {
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

// Of all rows together; what has been taken may be sent again when there is no room, and room comes back with the step.
TEST_F(EmbeddingsTest, GradientsThatWaitHaveOneLimitAndRepetitionsNeedNone) {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  const auto shard = GraphShard::Make(book, std::move(partitions[0]), {.waiting_gradient_bytes = 5000});
  ASSERT_TRUE(shard.ok()) << shard.status().ToString();
  sampler::PartitionEmbeddings& limited = (*shard)->embeddings();
  EmbeddingSpec other = Descent(2);
  other.id.name = "other";
  for (const EmbeddingSpec& spec : {Descent(2), other}) {
    limited.Create(spec, Soon(), [](const Status& created) { ASSERT_EQ(created.ToString(), "OK"); });
  }
  const auto push = [&](const EmbeddingSpec& spec, uint64_t step, uint32_t rank) {
    std::optional<Status> pushed;
    limited.Push(spec.id, GradientsOf(step, rank, std::vector<LocalRowId>(250, LocalRowId(1)), 1), Soon(),
                 [&](Status status) { pushed = std::move(status); });
    return *pushed;
  };
  ASSERT_TRUE(push(Descent(2), 0, 0).ok());
  EXPECT_EQ(push(other, 0, 0).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(push(Descent(2), 0, 0).ToString(), "OK") << "it was there";
  std::optional<Status> marker;
  limited.Push(Descent(2).id, GradientsOf(0, 1, {}, 0), Soon(), [&](Status status) { marker = std::move(status); });
  ASSERT_TRUE(marker->ok()) << "the step is applied";
  EXPECT_EQ(push(other, 0, 0).ToString(), "OK");
}

TEST_F(EmbeddingsTest, HalfRowsFollowTheirMaster) {
  EmbeddingSpec spec = Descent(1);
  spec.dtype = DType::kBF16;
  spec.optimizer.type = SparseOptimizerType::kAdagrad;
  ASSERT_TRUE(Create(spec).ok());
  // Adagrad's first step is the rate, whatever the gradient: 1 - 0.5.
  ASSERT_TRUE(Push(GradientsOf(0, 0, {LocalRowId(6)}, 3)).ok());
  std::vector<uint16_t> values(2);
  const std::vector<LocalRowId> rows = {LocalRowId(6)};
  const std::vector<uint32_t> positions = {0};
  embeddings().Read(spec.id, 1, rows, {reinterpret_cast<std::byte*>(values.data()), 4, positions}, Soon(),
                    [](const Status& status) { EXPECT_EQ(status.ToString(), "OK"); });
  EXPECT_EQ(BFloat16ToFloat(values[0]), 0.5f);
  EXPECT_EQ(BFloat16ToFloat(values[1]), 0.5f);
}

}  // namespace
}  // namespace espalier::shard
