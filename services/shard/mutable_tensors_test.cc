// Names, limits and lifetimes of a partition's tensors.
#include "services/shard/mutable_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "services/graph/generators.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::RowSpace;
using sampler::TensorSpec;
using ::testing::HasSubstr;

class MutableTensorsTest : public ::testing::Test {
 protected:
  MutableTensorsTest()
      : partitions_(testing::MakeTestPartitions(
            testing::PapersAndAuthors({.num_papers = 60, .num_authors = 30, .seed = 3}), 2, 1, &book_)) {}

  MutableTensors Limited(uint64_t max_bytes) const { return MutableTensors(book_, partitions_[1], {max_bytes, 1000}); }

  static Result<sampler::TensorDescription> Create(MutableTensors& tensors, const TensorSpec& spec,
                                                   uint64_t creation = 1, Deadline deadline = Soon()) {
    std::optional<Result<sampler::TensorDescription>> answer;
    tensors.Create(spec, creation, deadline, [&](auto created) { answer.emplace(std::move(created)); });
    ESPALIER_CHECK(answer.has_value());
    return *std::move(answer);
  }
  // Repeats Create, as clients do, while original ids are being fetched.
  static Result<sampler::TensorDescription> CreateOnceFetched(MutableTensors& tensors, const TensorSpec& spec) {
    const Deadline deadline = Soon();
    while (true) {
      Result<sampler::TensorDescription> answer = Create(tensors, spec);
      const bool are_here = answer.status().message().find("are being fetched") == std::string::npos;
      if (are_here || deadline.HasPassed()) return answer;
      std::this_thread::yield();
    }
  }
  template <class Ask>
  static Status CaptureStatus(Ask ask) {
    Status answer;
    ask([&](Status status) { answer = std::move(status); });
    return answer;
  }
  static Status Drop(MutableTensors& tensors, sampler::TensorId id, uint64_t creation) {
    id.creation = creation;
    return CaptureStatus([&](auto done) { tensors.Drop(id, Soon(), done); });
  }
  static Status Complete(MutableTensors& tensors, sampler::TensorId id, uint64_t creation) {
    id.creation = creation;
    return CaptureStatus([&](auto done) { tensors.Complete(id, Soon(), done); });
  }
  static Status Abandon(MutableTensors& tensors, const sampler::TensorId& id, uint64_t maker) {
    return CaptureStatus([&](auto done) { tensors.Abandon(id, maker, Soon(), done); });
  }
  static TensorSpec MadeBy(uint64_t maker, TensorSpec spec) {
    spec.maker = maker;
    return spec;
  }
  static TensorSpec Own(const std::string& name, uint64_t num_rows, const std::string& job = "") {
    return {.id = {RowSpace::Own(num_rows), name, job}, .dtype = DType::kI32};
  }

  graph::PartitionBook book_;
  const std::vector<graph::Partition> partitions_;
};

TEST_F(MutableTensorsTest, CountsBytesOfExistingTensors) {
  MutableTensors tensors = Limited(400);
  ASSERT_TRUE(Create(tensors, Own("a", 100)).ok());  // 50 rows here
  EXPECT_EQ(tensors.SizeBytes(), 200u);
  ASSERT_TRUE(Create(tensors, Own("b", 100)).ok());
  const auto refused = Create(tensors, Own("c", 2));
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("0 of 400 are left"));
  ASSERT_TRUE(Drop(tensors, Own("a", 100).id, 0).ok());
  EXPECT_EQ(tensors.SizeBytes(), 200u);
  EXPECT_TRUE(Create(tensors, Own("c", 2)).ok());
}

TEST_F(MutableTensorsTest, NamesAreOfAJobAndARowSpace) {
  MutableTensors tensors = Limited(1 << 20);
  const TensorSpec specs[] = {Own("t", 10),
                              Own("t", 12, "nightly"),
                              {.id = {RowSpace::Nodes(NodeTypeId(0)), "t", {}}},
                              {.id = {RowSpace::Nodes(NodeTypeId(1)), "t", {}}},
                              {.id = {RowSpace::Edges(EdgeTypeId(0)), "t", {}}},
                              {.id = {RowSpace::Nodes(NodeTypeId(0)), "t", "nightly"}}};
  uint64_t creation = 0;
  for (const TensorSpec& spec : specs) {
    const auto created = Create(tensors, spec, ++creation);
    ASSERT_TRUE(created.ok()) << created.status().ToString();
    EXPECT_EQ(created->creation, creation);
  }
  ASSERT_TRUE(Drop(tensors, specs[1].id, 0).ok());
  EXPECT_TRUE(tensors.Find(specs[0].id).ok());
  EXPECT_TRUE(tensors.Find(specs[5].id).ok());
  EXPECT_EQ(tensors.Find(specs[1].id).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(tensors.Find(Own("t", 11).id).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Create(tensors, Own("t", 11)).status().code(), StatusCode::kAlreadyExists);
}

TEST_F(MutableTensorsTest, NewIncarnationKeepsTensorsOfOtherJobs) {
  MutableTensors tensors = Limited(1 << 20);
  TensorSpec mine = Own("t", 10, "mine"), more = Own("more", 10, "mine"), others = Own("t", 10, "others");
  for (TensorSpec* spec : {&mine, &more, &others}) spec->id.incarnation = 1;
  for (const TensorSpec& spec : {mine, more, others}) ASSERT_TRUE(Create(tensors, spec, 5).ok());

  mine.id.incarnation = 2;
  const auto again = Create(tensors, mine, 6);

  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->creation, 6u);
  EXPECT_EQ(tensors.Find(more.id).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(tensors.Find(others.id).ok());
  EXPECT_EQ(tensors.SizeBytes(), 2 * 5 * sizeof(int32_t));
  EXPECT_EQ(Create(tensors, more, 7).status().code(), StatusCode::kAborted);  // late, of an older incarnation
  mine.id.name = "third";
  EXPECT_TRUE(Create(tensors, mine, 8).ok());
  sampler::TensorId anew = Own("t", 10, "mine").id;
  anew.incarnation = 2;
  EXPECT_TRUE(tensors.Find(anew).ok());
  anew.incarnation = 1;  // a request that was admitted before the newer incarnation arrived
  EXPECT_EQ(tensors.Find(anew).status().code(), StatusCode::kNotFound);
  anew.incarnation = 3;  // a newer incarnation without tensors
  EXPECT_EQ(tensors.Find(anew).status().code(), StatusCode::kNotFound);
}

TEST_F(MutableTensorsTest, RecreatedTensorIsDifferent) {
  MutableTensors tensors = Limited(1 << 20);
  const auto first = Create(tensors, MadeBy(1, Own("t", 10)), 0);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(Drop(tensors, Own("t", 10).id, first->creation).ok());
  const auto second = Create(tensors, MadeBy(2, Own("t", 10)), 0);
  ASSERT_TRUE(second.ok());
  EXPECT_GT(second->creation, first->creation);

  sampler::TensorId old = Own("t", 10).id;
  old.creation = first->creation;
  const Status found = tensors.Find(old).status();
  EXPECT_EQ(found.code(), StatusCode::kNotFound);
  EXPECT_THAT(found.message(), HasSubstr("dropped and recreated"));
  ASSERT_TRUE(Drop(tensors, Own("t", 10).id, first->creation).ok());
  EXPECT_TRUE(tensors.Find(Own("t", 10).id).ok());
}

TEST_F(MutableTensorsTest, IncompleteTensorIsUnavailableToOthers) {
  MutableTensors tensors = Limited(1 << 20);
  const TensorSpec spec = Own("t", 10);
  const auto made = Create(tensors, MadeBy(1, spec), 0);
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made->is_complete);
  EXPECT_EQ(Create(tensors, MadeBy(2, spec), 0).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Create(tensors, MadeBy(1, spec), 0)->creation, made->creation);  // the same call, repeated
  ASSERT_TRUE(Complete(tensors, spec.id, made->creation).ok());
  const auto found = Create(tensors, MadeBy(2, spec), 0);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->maker, 1u);
  EXPECT_TRUE(found->is_complete);
  EXPECT_EQ(Abandon(tensors, spec.id, 1).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(tensors.Find(spec.id).ok());
}

TEST_F(MutableTensorsTest, AbandonedCreationFreesName) {
  MutableTensors tensors = Limited(1 << 20);
  const TensorSpec spec = Own("t", 10);
  EXPECT_EQ(Create(tensors, MadeBy(1, spec), 0, Deadline::After(std::chrono::nanoseconds(0))).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(tensors.SizeBytes(), 0u);
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(20));
  const auto given_up = Create(tensors, MadeBy(1, spec), 0, deadline);
  while (!deadline.HasPassed()) {
  }
  const auto second = Create(tensors, MadeBy(2, spec), 0);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(second->maker, 2u);
  EXPECT_EQ(Complete(tensors, spec.id, given_up.ok() ? given_up->creation : 1).code(), StatusCode::kNotFound);
  EXPECT_TRUE(Abandon(tensors, spec.id, 1).ok());  // not its tensor
  EXPECT_TRUE(tensors.Find(spec.id).ok());
  EXPECT_TRUE(Abandon(tensors, spec.id, 2).ok());
  EXPECT_EQ(tensors.Find(spec.id).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(tensors.SizeBytes(), 0u);
}

// The behavior of the partitions other than 0, which do not keep the register.
TEST_F(MutableTensorsTest, LaterCreationReplacesEarlierOne) {
  MutableTensors tensors = Limited(1 << 20);
  const TensorSpec spec = Own("t", 10);
  constexpr uint64_t kRegister = uint64_t{5} << 32, kOther = uint64_t{6} << 32;
  ASSERT_TRUE(Create(tensors, spec, kRegister | 2).ok());
  EXPECT_EQ(Create(tensors, spec, kRegister | 1).status().code(), StatusCode::kAborted);
  EXPECT_EQ(Create(tensors, spec, kOther | 9).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Create(tensors, spec, kRegister | 3)->creation, kRegister | 3);
  EXPECT_EQ(tensors.SizeBytes(), 5 * sizeof(int32_t));
  // The drop arrives before the creation, which must fail: no later request would drop the tensor.
  ASSERT_TRUE(Drop(tensors, spec.id, kRegister | 4).ok());
  EXPECT_EQ(Create(tensors, spec, kRegister | 4).status().code(), StatusCode::kAborted);
  EXPECT_EQ(tensors.SizeBytes(), 5 * sizeof(int32_t));
}

TEST_F(MutableTensorsTest, OwnRowsAreFoundWithoutTheirCount) {
  MutableTensors tensors = Limited(1 << 20);
  ASSERT_TRUE(Create(tensors, Own("t", 10)).ok());
  EXPECT_TRUE(tensors.Find({RowSpace::Own(), "t", {}}).ok());
  const Status other = tensors.Find(Own("t", 11).id).status();
  EXPECT_EQ(other.code(), StatusCode::kNotFound);
  EXPECT_THAT(other.message(), HasSubstr("has 10 rows, not 11"));
  ASSERT_TRUE(Drop(tensors, Own("t", 11).id, 0).ok());
  EXPECT_TRUE(tensors.Find(Own("t", 10).id).ok());
}

TEST_F(MutableTensorsTest, RefusesInvalidTensors) {
  MutableTensors tensors = Limited(uint64_t{1} << 60);
  const std::pair<StatusCode, TensorSpec> wrong[] = {
      {StatusCode::kInvalidArgument, {.id = {RowSpace::Nodes(NodeTypeId(9)), "t", {}}}},
      {StatusCode::kInvalidArgument, {.id = {RowSpace::Edges(EdgeTypeId(99)), "t", {}}}},
      {StatusCode::kInvalidArgument, {.id = {RowSpace::Own(1), "no good", {}}}},
      {StatusCode::kAlreadyExists, {.id = {RowSpace::Nodes(NodeTypeId(0)), sampler::kOriginalIdColumn, {}}}},
      {StatusCode::kAlreadyExists, {.id = {RowSpace::Nodes(NodeTypeId(1)), graph::kFeatureColumn, {}}}},
      {StatusCode::kResourceExhausted, Own("t", uint64_t{1} << 34)},
      {StatusCode::kResourceExhausted, Own("t", uint64_t{1} << 50)},
      {StatusCode::kInvalidArgument,
       {.id = Own("t", 1).id, .dtype = DType::kU8, .initializer = sampler::Initializer::Constant(256)}},
      {StatusCode::kInvalidArgument,
       {.id = Own("t", 1).id, .dtype = DType::kI32, .initializer = sampler::Initializer::Uniform(0, 1, 1)}},
      {StatusCode::kInvalidArgument,
       {.id = Own("t", 1).id, .dtype = DType::kF32, .initializer = sampler::Initializer::XavierUniform(1, 1)}}};
  for (const auto& [code, spec] : wrong) {
    const auto created = Create(tensors, spec);
    EXPECT_EQ(created.status().code(), code) << created.status().ToString();
  }
  EXPECT_EQ(tensors.SizeBytes(), 0u);
}

TEST_F(MutableTensorsTest, RandomRowsOfEdgesNeedTheirOriginalIds) {
  std::vector<graph::Partition> partitions = partitions_;
  partitions[1].original_edge_ids.clear();
  MutableTensors tensors(book_, partitions[1], {1 << 20, 1000});
  TensorSpec spec{.id = {RowSpace::Edges(EdgeTypeId(0)), "t", {}}};
  spec.initializer = sampler::Initializer::Normal(0, 1, 1);
  EXPECT_EQ(Create(tensors, spec).status().code(), StatusCode::kFailedPrecondition);
  spec.initializer = sampler::Initializer::Constant(1);
  EXPECT_TRUE(Create(tensors, spec).ok());
}

TEST_F(MutableTensorsTest, OriginalEdgeIdsAreFetchedOnceOnDemand) {
  std::vector<graph::Partition> partitions = partitions_;
  const std::vector<Tensor> ids = partitions[1].original_edge_ids;
  partitions[1].original_edge_ids.clear();
  std::vector<Result<std::vector<Tensor>>> answers = {Unavailable("the store is away"),
                                                      NotFound("there is no edge_ids"), std::vector<Tensor>{}, ids};
  size_t num_fetched = 0;
  partitions[1].load_original_edge_ids = [&](const std::stop_token&) { return answers.at(num_fetched++); };
  MutableTensors tensors(book_, partitions[1], {1 << 20, 1000}), loaded(book_, partitions_[1], {1 << 20, 1000});
  TensorSpec spec{.id = {RowSpace::Edges(EdgeTypeId(0)), "t", {}}, .row_shape = {3}};
  ASSERT_TRUE(Create(tensors, spec).ok());
  EXPECT_EQ(num_fetched, 0u) << "zeros need none";

  spec.id.name = "u";
  spec.initializer = sampler::Initializer::Uniform(-1, 1, 4);
  EXPECT_THAT(CreateOnceFetched(tensors, spec).status().message(), HasSubstr("the store is away"));
  EXPECT_EQ(CreateOnceFetched(tensors, spec).status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(CreateOnceFetched(tensors, spec).status().message(), HasSubstr("not those of partition 1"));
  const Result<sampler::TensorDescription> made = CreateOnceFetched(tensors, spec), expected = Create(loaded, spec);
  ASSERT_TRUE(made.ok() && expected.ok()) << made.status().ToString() << expected.status().ToString();
  const auto bytes_of = [&](MutableTensors& of) {
    const auto rows = of.Find(spec.id);
    ESPALIER_CHECK(rows.ok()) << rows.status().ToString();
    const TensorRows::ExclusiveAccess all(**rows);
    return std::vector<std::byte>(all.bytes(), all.bytes() + (*rows)->size_bytes());
  };
  EXPECT_EQ(bytes_of(tensors), bytes_of(loaded));

  spec.id.name = "v";
  spec.id.rows = RowSpace::Edges(EdgeTypeId(1));
  EXPECT_TRUE(Create(tensors, spec).ok());
  EXPECT_EQ(num_fetched, 4u) << "they stay";
}

TEST_F(MutableTensorsTest, OriginalEdgeIdsAreNotFetchedIfUnneeded) {
  std::vector<graph::Partition> partitions = partitions_;
  partitions[1].original_edge_ids.clear();
  std::atomic<int> num_fetched{0};
  partitions[1].load_original_edge_ids = [&](const std::stop_token&) -> Result<std::vector<Tensor>> {
    ++num_fetched;
    return Unavailable("the store is away");
  };
  MutableTensors tensors(book_, partitions[1], {1 << 20, 1000});
  TensorSpec spec{.id = {RowSpace::Edges(EdgeTypeId(0)), "t", {}}};
  spec.id.incarnation = 2;
  ASSERT_TRUE(Create(tensors, spec).ok());
  spec.initializer = sampler::Initializer::Normal(0, 1, 1);
  EXPECT_TRUE(Create(tensors, spec).ok()) << "it is there";
  spec.id.name = "u";
  spec.id.incarnation = 1;
  EXPECT_EQ(Create(tensors, spec).status().code(), StatusCode::kAborted);
  EXPECT_EQ(num_fetched.load(), 0);
}

// Without a server there is no client that retries the call, so the graph's own code must.
TEST_F(MutableTensorsTest, LocalPartitionIsRetriedWhileIdsAreMissing) {
  const auto open = [&] {
    std::vector<graph::Partition> partitions = partitions_;
    for (graph::Partition& partition : partitions) {
      partition.load_original_edge_ids = [ids = partition.original_edge_ids, num_asked = std::make_shared<int>(0)](
                                             const std::stop_token&) -> Result<std::vector<Tensor>> {
        if (++*num_asked == 1) return Unavailable("the store is away");
        return ids;
      };
      partition.original_edge_ids.clear();
    }
    auto graph = OpenLocalGraph(book_, std::move(partitions));
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  };
  const RowSpace edges = RowSpace::Edges(EdgeTypeId(0));
  TensorSpec spec{.id = {edges, "t", {}}, .row_shape = {3}};
  spec.initializer = sampler::Initializer::Uniform(-1, 1, 4);
  const auto made = open()->tensors().Create(spec, Soon());
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  const sampler::EmbeddingSpec learnable{.id = {edges, "emb", {}}, .width = 3, .initializer = spec.initializer};
  EXPECT_EQ(open()->embeddings().CreateEmbedding(learnable, Soon()).ToString(), "OK");
  const Status late = open()->embeddings().CreateEmbedding(learnable, Deadline::After(std::chrono::milliseconds(1)));
  EXPECT_EQ(late.code(), StatusCode::kUnavailable);
}

// Fills an I32 row with its original id; fails for an id that is not below the limit.
class IdsBelow final : public sampler::RowInitializers {
 public:
  explicit IdsBelow(uint64_t limit) : limit_(limit) {}
  Status CheckExists(const std::string& name) const override {
    return name == "test/ids" ? Status() : Unimplemented("no initializer '" + name + "'");
  }
  Status Fill(const sampler::RowsToFill& rows, Deadline) const override {
    ESPALIER_CHECK(rows.values.size() == rows.original_ids.size() * sizeof(int32_t));
    for (size_t i = 0; i < rows.original_ids.size(); ++i) {
      if (rows.original_ids[i] >= limit_) return FailedPrecondition("an id that is too large");
      const auto value = static_cast<int32_t>(rows.original_ids[i]);
      std::memcpy(rows.values.data() + i * sizeof(value), &value, sizeof(value));
    }
    return Status();
  }

 private:
  const uint64_t limit_;
};

// Calls `does` instead of filling rows.
class Meanwhile final : public sampler::RowInitializers {
 public:
  std::function<void()> does;
  Status CheckExists(const std::string&) const override { return Status(); }
  Status Fill(const sampler::RowsToFill&, Deadline) const override {
    does();
    return Status();
  }
};

// With one partition no other server has to complete the tensor.
TEST_F(MutableTensorsTest, ATensorIsNotCompleteBeforeItIsFilled) {
  graph::PartitionBook book;
  const std::vector<graph::Partition> whole = testing::MakeTestPartitions(
      testing::PapersAndAuthors({.num_papers = 60, .num_authors = 30, .seed = 3}), 1, 1, &book);
  const auto initializer = std::make_shared<Meanwhile>();
  MutableTensors tensors(book, whole[0], {1 << 20, 1000}, initializer);
  TensorSpec spec = MadeBy(7, Own("t", 10));
  spec.initializer = sampler::Initializer::Plugin("test/meanwhile");
  std::vector<bool> was_complete;
  const auto look = [&] {
    tensors.Describe(spec.id, Soon(), [&](const Result<sampler::TensorDescription>& found) {
      was_complete.push_back(found.ok() && found->is_complete);
    });
  };
  initializer->does = look;
  ASSERT_TRUE(Create(tensors, spec, 0).ok());
  look();
  EXPECT_THAT(was_complete, ::testing::ElementsAre(false, true));

  // A creation that is abandoned while it fills leaves no tensor.
  spec.id.name = "u";
  initializer->does = [&] { EXPECT_TRUE(Abandon(tensors, spec.id, 7).ok()); };
  EXPECT_EQ(Create(tensors, spec, 0).status().code(), StatusCode::kAborted);
  EXPECT_EQ(tensors.SizeBytes(), 10 * sizeof(int32_t));
}

TEST_F(MutableTensorsTest, AnInitializerThatFailsLeavesNoRows) {
  MutableTensors tensors(book_, partitions_[1], {1 << 20, 1000}, std::make_shared<IdsBelow>(150));
  TensorSpec spec = Own("t", 400);  // rows 200 to 399 are here
  spec.initializer = sampler::Initializer::Plugin("test/ids");
  const auto refused = Create(tensors, spec);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("tensor 't': an id that is too large"));
  EXPECT_EQ(tensors.SizeBytes(), 0u);
  EXPECT_EQ(tensors.Find(spec.id).status().code(), StatusCode::kNotFound);

  spec.id.rows = RowSpace::Own(120);  // 60 to 119
  ASSERT_TRUE(Create(tensors, spec).ok());
  const auto rows = tensors.Find(spec.id);
  ASSERT_TRUE(rows.ok());
  const TensorRows::ExclusiveAccess filled(**rows);
  int32_t last = 0;
  std::memcpy(&last, filled.bytes() + 59 * sizeof(last), sizeof(last));
  EXPECT_EQ(last, 119);

  spec.id.name = "other";
  spec.initializer.plugin = "test/other";
  EXPECT_EQ(Create(tensors, spec).status().code(), StatusCode::kUnimplemented);
  spec.initializer.plugin = "test/ids";
  EXPECT_EQ(Create(tensors, spec, 7, Deadline::After(std::chrono::seconds(0))).status().code(),
            StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace espalier::shard
