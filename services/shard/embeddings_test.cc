// The step protocol on one partition: versions, waits, repeated messages and refusals.
#include "services/shard/embeddings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "services/shard/testing/plain_rows.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace espalier::shard {
namespace {

using sampler::EmbeddingSpec;
using sampler::GradientPiece;
using sampler::SparseOptimizerType;
using testing::Descent;
using ::testing::ElementsAre;
using testing::FiftyNodes;
using ::testing::HasSubstr;
using testing::MakeGradients;

class EmbeddingsTest : public ::testing::Test {
 protected:
  Status Create(const EmbeddingSpec& spec) {
    std::optional<Status> created;
    embeddings().Create(spec, Soon(), [&](Status status) { created = std::move(status); });
    return *created;
  }
  // Starts a push, whose acknowledgment may arrive later.
  std::future<Status> StartPush(GradientPiece piece, Deadline deadline = Soon()) {
    const auto answer = std::make_shared<std::promise<Status>>();
    embeddings().Push(Descent(1).id, std::move(piece), deadline,
                      [answer](Status status) { answer->set_value(std::move(status)); });
    return answer->get_future();
  }
  Status Push(GradientPiece piece) { return StartPush(std::move(piece)).get(); }
  // A pending read, whose result may arrive later.
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

TEST_F(EmbeddingsTest, LastTrainerOfStepCreatesNextVersion) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  EXPECT_THAT(ValuesAt(0, {LocalRowId(3)}), ElementsAre(1, 1));

  ASSERT_TRUE(Push(MakeGradients(0, 1, {LocalRowId(3), LocalRowId(4)}, 1)).ok());
  EXPECT_THAT(ValuesAt(0, {LocalRowId(3)}), ElementsAre(1, 1)) << "trainer 0 may still read version 0";
  ASSERT_TRUE(Push(MakeGradients(0, 0, {LocalRowId(3)}, 0.5f)).ok());

  EXPECT_THAT(ValuesAt(1, {LocalRowId(3), LocalRowId(4), LocalRowId(5)}), ElementsAre(0.25f, 0.25f, 0.5f, 0.5f, 1, 1));
}

TEST_F(EmbeddingsTest, AReadWaitsForItsVersion) {
  ASSERT_TRUE(Create(Descent(1)).ok());
  const auto first = StartRead(1, {LocalRowId(7)}), second = StartRead(2, {LocalRowId(7)});
  EXPECT_EQ(first->status.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

  ASSERT_TRUE(Push(MakeGradients(0, 0, {LocalRowId(7)}, 1)).ok());
  ASSERT_TRUE(first->status.get().ok());
  EXPECT_THAT(first->values, ElementsAre(0.5f, 0.5f));
  EXPECT_EQ(second->status.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

  ASSERT_TRUE(Push(MakeGradients(1, 0, {}, 0)).ok()) << "an empty marker";
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

TEST_F(EmbeddingsTest, RepeatedPiecesApplyOnce) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Push(MakeGradients(0, 0, {LocalRowId(1)}, 1)).ok());
  EXPECT_THAT(ValuesAt(0, {LocalRowId(1)}), ElementsAre(1, 1));
  ASSERT_TRUE(Push(MakeGradients(0, 1, {}, 0)).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Push(MakeGradients(0, 0, {LocalRowId(1)}, 1)).ok()) << "after its step";
  EXPECT_THAT(ValuesAt(1, {LocalRowId(1)}), ElementsAre(0.5f, 0.5f));
}

// The pieces of two trainers in every order give the same rows, bit for bit.
TEST_F(EmbeddingsTest, RowsDoNotDependOnArrivalOrder) {
  const std::vector<float> numbers = {1e8f, 1, -1e8f, 0.25f};
  std::vector<int> order = {0, 1, 2, 3};  // rank and piece
  std::optional<std::vector<float>> expected;
  do {
    ASSERT_TRUE(Create(Descent(2)).ok());
    for (const int which : order) {
      GradientPiece piece =
          MakeGradients(0, static_cast<uint32_t>(which / 2), {LocalRowId(9)}, numbers[static_cast<size_t>(which)]);
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
  ASSERT_TRUE(Push(MakeGradients(0, 1, {}, 0)).ok());
  GradientPiece piece = MakeGradients(1, 1, {LocalRowId(2)}, 0.5f);
  piece.num_pieces = 2;
  ASSERT_TRUE(Push(piece).ok()) << "not its last";
  piece.piece = 1;
  std::future<Status> ahead = StartPush(piece), repeated = StartPush(piece);
  EXPECT_EQ(ahead.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(repeated.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  const Status too_far = Push(MakeGradients(2, 1, {}, 0));
  EXPECT_EQ(too_far.code(), StatusCode::kFailedPrecondition) << "it has not waited";
  EXPECT_THAT(too_far.message(), HasSubstr("step 2"));
  ASSERT_TRUE(Push(MakeGradients(0, 0, {}, 0)).ok());
  EXPECT_EQ(ahead.get(), Status());
  EXPECT_EQ(repeated.get(), Status());
  EXPECT_THAT(ValuesAt(1, {LocalRowId(2)}), ElementsAre(1, 1));
  ASSERT_TRUE(Push(MakeGradients(1, 0, {}, 0)).ok());
  EXPECT_THAT(ValuesAt(2, {LocalRowId(2)}), ElementsAre(0.5f, 0.5f));
  EXPECT_EQ(StartRead(1, {LocalRowId(2)})->status.get().code(), StatusCode::kFailedPrecondition) << "it is gone";
}

TEST_F(EmbeddingsTest, TrainerOneStepAheadWaitsUntilDeadlineOrDrop) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  ASSERT_TRUE(Push(MakeGradients(0, 1, {}, 0)).ok());
  const GradientPiece next = MakeGradients(1, 1, {LocalRowId(2)}, 1);
  const Status late = StartPush(next, Deadline::After(std::chrono::milliseconds(1))).get();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("not all trainers"));
  std::future<Status> waiting = StartPush(next);  // the earlier attempt that timed out has no effect
  embeddings().Drop(Descent(1).id, Soon(), [](const Status& dropped) { EXPECT_TRUE(dropped.ok()); });
  EXPECT_EQ(waiting.get().code(), StatusCode::kUnavailable);
}

// Trainers that read nothing from this owner and have no other synchronization: only acknowledgments keep them at most
// one step ahead of it.
TEST_F(EmbeddingsTest, UnsynchronizedTrainersStayWithinOneStep) {
  constexpr uint32_t kTrainers = 3;
  constexpr uint64_t kSteps = 100;
  ASSERT_TRUE(Create(Descent(kTrainers)).ok());
  std::vector<LocalRowId> rows;
  for (uint32_t i = 0; i < 1000; ++i) rows.emplace_back(i % 50);
  std::vector<Status> errors(kTrainers);
  {
    std::vector<std::jthread> trainers;
    for (uint32_t rank = 0; rank < kTrainers; ++rank) {
      trainers.emplace_back([&, rank] {
        for (uint64_t step = 0; step < kSteps && errors[rank].ok(); ++step) {
          errors[rank] = Push(MakeGradients(step, rank, rows, 0.25f));
        }
      });
    }
  }
  for (const Status& error : errors) ASSERT_EQ(error.ToString(), "OK");
  ValuesAt(kSteps, {LocalRowId(0)});
}

TEST_F(EmbeddingsTest, DefaultEpsilonMatchesTorch) {
  EmbeddingSpec spec = Descent(1);
  spec.optimizer = {.type = SparseOptimizerType::kAdam};
  ASSERT_TRUE(Create(spec).ok());
  spec.optimizer.epsilon = 1e-8;
  EXPECT_EQ(Create(spec).ToString(), "OK");
  spec.optimizer.epsilon = 1e-10;
  EXPECT_EQ(Create(spec).code(), StatusCode::kAlreadyExists);
}

TEST_F(EmbeddingsTest, RowsContinueFromInitialVersion) {
  EmbeddingSpec spec = Descent(1);
  spec.first_version = 5;
  ASSERT_TRUE(Create(spec).ok());
  EXPECT_EQ(StartRead(4, {LocalRowId(2)})->status.get().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(ValuesAt(5, {LocalRowId(2)}), ElementsAre(1, 1));
  ASSERT_TRUE(Push(MakeGradients(4, 0, {LocalRowId(2)}, 1)).ok()) << "in the values already";
  ASSERT_TRUE(Push(MakeGradients(5, 0, {LocalRowId(2)}, 1)).ok());
  EXPECT_THAT(ValuesAt(6, {LocalRowId(2)}), ElementsAre(0.5f, 0.5f));
  spec.first_version = 6;
  EXPECT_EQ(Create(spec).code(), StatusCode::kAlreadyExists);
  spec.id.name = "far";
  spec.first_version = UINT64_MAX;
  EXPECT_EQ(Create(spec).code(), StatusCode::kInvalidArgument);
}

TEST_F(EmbeddingsTest, NewerIncarnationReplacesRowsOfOlderOnes) {
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

// After a run was killed, its trainers are started again by hand with the same incarnation.
TEST_F(EmbeddingsTest, NewRunOfSameIncarnationStartsEmpty) {
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
  ASSERT_TRUE(push(1, MakeGradients(0, 1, {LocalRowId(3)}, 100)).ok()) << "what trainer 1 of the dead run has sent";

  ASSERT_EQ(Create(of_run(2)).ToString(), "OK");
  EXPECT_TRUE(Create(of_run(2)).ok()) << "the other trainer";
  EXPECT_EQ(push(1, MakeGradients(0, 0, {}, 0)).code(), StatusCode::kAborted) << "a late message of the dead run";
  EXPECT_EQ(Create(of_run(1)).code(), StatusCode::kAborted) << "another late message";
  embeddings().Drop(of_run(1).id, Soon(), [](const Status& dropped) { EXPECT_TRUE(dropped.ok()); });
  ASSERT_TRUE(push(2, MakeGradients(0, 0, {LocalRowId(3)}, 1)).ok());
  ASSERT_TRUE(push(2, MakeGradients(0, 1, {}, 0)).ok());
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

// Trainers call Create concurrently: one call creates the rows, the others wait without blocking a thread.
TEST_F(EmbeddingsTest, ConcurrentCreationsMakeRowsOnce) {
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

// A run drops its rows while the next run creates rows of the same name.
TEST_F(EmbeddingsTest, DropDoesNotAffectConcurrentCreation) {
  const auto of_run = [](uint64_t run) {
    EmbeddingSpec spec = Descent(1);
    spec.id.creation = run << 32;
    return spec;
  };
  ASSERT_TRUE(Create(of_run(1)).ok());
  for (uint64_t run = 1; run < 200; ++run) {
    std::promise<Status> dropped, created;
    {
      std::jthread ending([&] {
        embeddings().Drop(of_run(run).id, Soon(), [&](Status status) { dropped.set_value(std::move(status)); });
      });
      embeddings().Create(of_run(run + 1), Soon(), [&](Status status) { created.set_value(std::move(status)); });
    }
    ASSERT_EQ(dropped.get_future().get().ToString(), "OK");
    ASSERT_EQ(created.get_future().get().ToString(), "OK") << "run " << run + 1;
  }
}

TEST_F(EmbeddingsTest, RefusesMismatch) {
  ASSERT_TRUE(Create(Descent(2)).ok());
  EXPECT_TRUE(Create(Descent(2)).ok()) << "the same again";
  EXPECT_EQ(Create(Descent(3)).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Push(MakeGradients(0, 2, {}, 0)).code(), StatusCode::kInvalidArgument) << "there is no trainer 2";
  EXPECT_EQ(Push(MakeGradients(0, 0, {LocalRowId(50)}, 1)).code(), StatusCode::kInvalidArgument);
  GradientPiece wide = MakeGradients(0, 0, {LocalRowId(1)}, 1);
  wide.gradients = Tensor::Zeros(DType::kF32, {1, 3});
  EXPECT_THAT(Push(std::move(wide)).message(), HasSubstr("F32 [1, 2]"));
  ASSERT_TRUE(Push(MakeGradients(0, 0, {LocalRowId(1)}, 1)).ok());
  GradientPiece faster = MakeGradients(0, 1, {}, 0);
  faster.learning_rate = 1;
  EXPECT_THAT(Push(std::move(faster)).message(), HasSubstr("learning rate"));
  EXPECT_EQ(StartRead(0, {LocalRowId(50)})->status.get().code(), StatusCode::kInvalidArgument);
  EmbeddingSpec nothing = Descent(1);
  nothing.id.name = "other";
  nothing.width = 0;
  EXPECT_EQ(Create(nothing).code(), StatusCode::kInvalidArgument);
}

// The last piece of a step is acknowledged when the step has been applied, not when the piece is stored. This keeps
// trainers that read nothing from this owner at most one step ahead.
TEST_F(EmbeddingsTest, TheLastPieceIsAcknowledgedWhenItsStepHasBeenApplied) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> partitions = testing::MakeTestPartitions(FiftyNodes(), 1, 1, &book);
  MutableTensors tensors(book, partitions[0], {.max_bytes = 1 << 20, .max_rows_per_request = 100});
  Embeddings embeddings(tensors, {.max_waiting_bytes = 1 << 20, .max_rows_per_request = 100});
  embeddings.Create(Descent(2), Soon(), [](const Status& created) { EXPECT_EQ(created.ToString(), "OK"); });
  const std::shared_ptr<EmbeddingRows> rows = *embeddings.Find(Descent(2).id);
  std::optional<uint64_t> first_version, last_version;  // rows->version() when the pieces were acknowledged
  const auto acknowledged = [&](std::optional<uint64_t>& version) {
    return [&](const Status& status) {
      EXPECT_EQ(status.ToString(), "OK");
      version = rows->version();
    };
  };
  embeddings.Push(Descent(2).id, MakeGradients(0, 0, {LocalRowId(1)}, 1), Soon(), acknowledged(first_version));
  EXPECT_EQ(first_version, 0u);
  embeddings.Push(Descent(2).id, MakeGradients(0, 1, {LocalRowId(1)}, 1), Soon(), acknowledged(last_version));
  EXPECT_EQ(last_version, 1u);
}

#ifdef __SSE2__
// Sets the mode of the calling thread in which torch flushes subnormal numbers.
void FlushSubnormalsToZero() { _mm_setcsr(_mm_getcsr() | 0x8040u); }

bool IsFlushingSubnormals() {
  const volatile float small = 1e-37f;
  return small * 0.1f == 0.0f;
}

// The threads of a graph server keep subnormal numbers; the threads of a trainer that holds the partitions in its own
// process flush them to zero. Adam's first moment is subnormal after this step.
TEST_F(EmbeddingsTest, AStepIsTheSameOnAThreadThatFlushesSubnormalsToZero) {
  EmbeddingSpec spec = Descent(1);
  spec.initializer = sampler::Initializer::Constant(0);
  spec.optimizer.type = SparseOptimizerType::kAdam;
  std::vector<std::vector<float>> values;
  for (const bool flushes : {false, true}) {
    ASSERT_TRUE(Create(spec).ok());
    std::jthread([&] {
      if (flushes) FlushSubnormalsToZero();
      EXPECT_TRUE(Push(MakeGradients(0, 0, {LocalRowId(3)}, 1e-37f)).ok());
      EXPECT_EQ(IsFlushingSubnormals(), flushes) << "the thread's own mode again";
    }).join();
    values.push_back(ValuesAt(1, {LocalRowId(3)}));
    embeddings().Drop(Descent(1).id, Soon(), [](const Status&) {});
  }
  EXPECT_LT(values[0][0], 0);
  EXPECT_EQ(values[0], values[1]);
}
#endif

TEST_F(EmbeddingsTest, HalfRowsFollowTheirMaster) {
  EmbeddingSpec spec = Descent(1);
  spec.dtype = DType::kBF16;
  spec.optimizer.type = SparseOptimizerType::kAdagrad;
  ASSERT_TRUE(Create(spec).ok());
  // Adagrad's first step equals the learning rate, regardless of the gradient: 1 - 0.5.
  ASSERT_TRUE(Push(MakeGradients(0, 0, {LocalRowId(6)}, 3)).ok());
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
