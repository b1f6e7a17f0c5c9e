// The specifications that owners of learnable rows receive for a document, checkpoints of rows, and complete runs with
// an initializer from a plugin. Trainers are threads, and all partitions are in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/collective/self_collective.h"
#include "services/graph/generators.h"
#include "services/shard/tensor_initializer.h"
#include "services/storage/memory_store.h"
#include "services/trainer/data/learnable_rows.h"
#include "services/trainer/testing/small_runs.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

// Records the specifications and steps that it receives, and has no rows.
class RecordingEmbeddingStore final : public sampler::EmbeddingStore {
 public:
  std::map<NodeTypeId, sampler::EmbeddingSpec> specs;
  std::map<NodeTypeId, std::vector<sampler::StepOfTrainer>> steps;

  Status CheckRows(const sampler::EmbeddingSpec&, std::span<const GlobalRowId>) const override { return Status(); }
  Status CreateEmbedding(const sampler::EmbeddingSpec& spec, Deadline) override {
    specs[ToNodeType(spec)] = spec;
    return Status();
  }
  Result<Tensor> ReadEmbedding(const sampler::EmbeddingSpec&, uint64_t, std::span<const GlobalRowId>,
                               Deadline) override {
    return Unimplemented("there are no rows");
  }
  void PushGradients(const sampler::EmbeddingSpec& spec, const sampler::StepOfTrainer& step,
                     std::span<const GlobalRowId>, const Tensor&, Deadline, sampler::DoneStatus done) override {
    steps[ToNodeType(spec)].push_back(step);
    done(Status());
  }
  Status DropEmbedding(const sampler::TensorId&, Deadline) override { return Status(); }
  Result<Tensor> ReadState(const sampler::EmbeddingSpec&, std::span<const GlobalRowId>, Deadline) override {
    return Unimplemented("there are no rows");
  }
  Status Restore(const sampler::EmbeddingSpec&, std::span<const GlobalRowId>, const Tensor&, const Tensor&,
                 Deadline) override {
    return Unimplemented("there are no rows");
  }

 private:
  static NodeTypeId ToNodeType(const sampler::EmbeddingSpec& spec) { return NodeTypeId(spec.id.rows.type); }
};

// Nodes whose global ids are their original ids, rotated by `turn`.
class TurnedNodes final : public sampler::SeedSource {
 public:
  TurnedNodes(uint64_t num_nodes, uint64_t turn) : num_nodes_(num_nodes), turn_(turn) {}
  Result<uint64_t> Count(NodeTypeId, const std::string&, graph::SplitPartName) override {
    return Unimplemented("splits");
  }
  Result<uint64_t> CountOfEdges(EdgeTypeId, const std::string&, graph::SplitPartName) override {
    return Unimplemented("splits");
  }
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery&, Deadline) override {
    return Unimplemented("splits");
  }
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId, std::span<const OriginalNodeId> originals,
                                                Deadline) override {
    std::vector<GlobalNodeId> nodes;
    for (const OriginalNodeId original : originals) nodes.emplace_back((original.value + turn_) % num_nodes_);
    return nodes;
  }

 private:
  const uint64_t num_nodes_, turn_;
};

// The rows of one node type with their state, on a single owner.
class MemoryEmbeddingStore final : public sampler::EmbeddingStore {
 public:
  std::map<uint64_t, std::vector<float>> values, state;  // by global id

  Status CheckRows(const sampler::EmbeddingSpec&, std::span<const GlobalRowId>) const override { return Status(); }
  Status CreateEmbedding(const sampler::EmbeddingSpec&, Deadline) override { return Status(); }
  Result<Tensor> ReadEmbedding(const sampler::EmbeddingSpec& spec, uint64_t, std::span<const GlobalRowId> rows,
                               Deadline) override {
    return Gather(values, rows, spec.width);
  }
  Result<Tensor> ReadState(const sampler::EmbeddingSpec& spec, std::span<const GlobalRowId> rows, Deadline) override {
    return Gather(state, rows, sampler::StateRowWidth(spec));
  }
  Status Restore(const sampler::EmbeddingSpec&, std::span<const GlobalRowId> rows, const Tensor& of_rows,
                 const Tensor& of_state, Deadline) override {
    Scatter(rows, of_rows, &values);
    Scatter(rows, of_state, &state);
    return Status();
  }
  void PushGradients(const sampler::EmbeddingSpec&, const sampler::StepOfTrainer&, std::span<const GlobalRowId>,
                     const Tensor&, Deadline, sampler::DoneStatus done) override {
    done(Unimplemented("gradients"));
  }
  Status DropEmbedding(const sampler::TensorId&, Deadline) override { return Status(); }

 private:
  static Tensor Gather(const std::map<uint64_t, std::vector<float>>& from, std::span<const GlobalRowId> rows,
                       size_t width) {
    std::vector<float> all;
    for (const GlobalRowId row : rows) all.insert(all.end(), from.at(row.value).begin(), from.at(row.value).end());
    return Tensor::FromVector(std::move(all), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)});
  }
  static void Scatter(std::span<const GlobalRowId> rows, const Tensor& from,
                      std::map<uint64_t, std::vector<float>>* to) {
    const size_t width = from.values<float>().size() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = from.values<float>().subspan(i * width, width);
      (*to)[rows[i].value].assign(row.begin(), row.end());
    }
  }
};

// Ten rows of a type `n`, which form three pieces of a checkpoint in the order of original ids.
class RowsInPiecesTest : public testing::Test {
 protected:
  static constexpr uint64_t kNodes = 10;
  static constexpr int64_t kSize = 1 << 19;  // 4 MiB per row, including the accumulators of Adagrad

  RowsInPiecesTest() {
    job::Embedding embedding{.size = kSize};
    embedding.optimizer.type = job::SparseOptimizerType::kAdagrad;
    training_.inputs = {{"n", {}, embedding}};
    for (uint64_t original = 0; original < kNodes; ++original) {
      owner_.values[(original + 3) % kNodes].assign(kSize, static_cast<float>(original));
      owner_.state[(original + 3) % kNodes].assign(kSize, static_cast<float>(100 + original));
    }
  }

  LearnableRows MakeRows(sampler::EmbeddingStore& owner, sampler::SeedSource& nodes) {
    return LearnableRows(training_, book_, owner, nodes, Rank(0), 1, Timeouts());
  }
  std::vector<format::Safetensors> Saved() {
    TurnedNodes nodes(kNodes, 3);
    std::vector<format::Safetensors> pieces;
    bool was_refused = false;  // every piece is refused once
    const auto take = [&](const format::Safetensors& piece) {
      if ((was_refused = !was_refused)) return false;
      pieces.push_back(piece);
      return true;
    };
    EXPECT_EQ(MakeRows(owner_, nodes).Save(take, self_), Status());
    return pieces;
  }
  Status Restored(std::vector<format::Safetensors> pieces, MemoryEmbeddingStore& owner) {
    TurnedNodes nodes(kNodes, 0);
    size_t next = 0;
    return MakeRows(owner, nodes)
        .CreateAt(
            7,
            [&]() -> Result<std::optional<format::Safetensors>> {
              if (next == pieces.size()) return std::optional<format::Safetensors>();
              return std::optional(pieces[next++]);
            },
            self_);
  }

  const graph::GraphSchema schema_ = *graph::GraphSchema::Make({"n"}, {{"n", "to", "n"}});
  const graph::PartitionBook book_ = *graph::PartitionBook::Make(schema_, {{0, kNodes}}, {{0, 4}});
  job::Training training_;
  MemoryEmbeddingStore owner_;
  collective::SelfCollective self_;
};

TEST_F(RowsInPiecesTest, MoveBetweenPartitionings) {
  const std::vector<format::Safetensors> pieces = Saved();
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].tensors.at("rows.n").shape(), (std::vector<int64_t>{4, kSize}));
  EXPECT_EQ(pieces[2].tensors.at("state.n").shape(), (std::vector<int64_t>{2, kSize}));
  EXPECT_EQ(pieces[1].tensors.at("rows.n").ValueAsDouble(0), 4);
  MemoryEmbeddingStore owner;
  ASSERT_EQ(Restored(pieces, owner), Status());
  for (uint64_t original = 0; original < kNodes; ++original) {
    EXPECT_EQ(owner.values.at(original), std::vector<float>(kSize, static_cast<float>(original)));
    EXPECT_EQ(owner.state.at(original), std::vector<float>(kSize, static_cast<float>(100 + original)));
  }
}

TEST_F(RowsInPiecesTest, RefuseMismatch) {
  const std::vector<format::Safetensors> pieces = Saved();
  ASSERT_EQ(pieces.size(), 3u);
  MemoryEmbeddingStore owner;
  const auto expect = [&](std::vector<format::Safetensors> bad, const std::string& what) {
    const Status status = Restored(std::move(bad), owner);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << what;
    EXPECT_THAT(status.message(), HasSubstr(what));
  };
  expect({pieces[0], pieces[1]}, "the checkpoint has 8 of the 10 learnable rows of 'n'");
  expect({}, "the checkpoint has 0 of the 10");
  expect({pieces[0], pieces[1], pieces[1]}, "rows of 'n' from row 8 on do not fit: expected F32 [at most 2, 524288]");
  format::Safetensors bad = pieces[0];
  bad.tensors.erase("state.n");
  expect({bad}, "and a state of 524288 values per row, found F32 [4, 524288] and nothing");
  bad.tensors["state.n"] = Tensor::Zeros(DType::kF32, {3, kSize});
  expect({bad}, "found F32 [4, 524288] and F32 [3, 524288]");
  bad.tensors["rows.n"] = Tensor::Zeros(DType::kF32, {4});
  expect({bad}, "found F32 [4] and");
}

// Each type has its own options, and the inputs are not in the order of the types.
TEST(LearnableRowsTest, OwnersGetOptionsOfEachType) {
  const auto schema = *graph::GraphSchema::Make({"item", "shop", "user"}, {{"user", "buys", "item"}});
  const auto book = *graph::PartitionBook::Make(schema, {{0, 5}, {0, 3}, {0, 7}}, {{0, 4}});
  job::Embedding of_users{.size = 3}, of_items{.size = 4, .dtype = job::RowDType::kBf16}, of_shops{.size = 5};
  of_users.optimizer = {.type = job::SparseOptimizerType::kSgd, .learning_rate = 0.5, .weight_decay = 0.25};
  of_users.schedule = {.type = job::ScheduleType::kStep, .step_epochs = 1, .factor = 0.5};
  of_items.optimizer = {
      .type = job::SparseOptimizerType::kAdam, .learning_rate = 0.125, .duplicates = job::DuplicateGradients::kMean};
  of_items.schedule = {.type = job::ScheduleType::kCosine, .warmup_steps = 2};
  of_shops.optimizer = {.type = job::SparseOptimizerType::kAdagrad, .initial_accumulator = 0.75};
  job::Training training;
  training.inputs = {{"user", {}, of_users}, {"shop", {}, of_shops}, {"item", {}, of_items}};
  training.optimizer.learning_rate = 4;  // of the network
  const RunLength run{.steps_per_epoch = 2, .epochs = 3};
  RecordingEmbeddingStore owners;
  collective::SelfCollective self;
  TurnedNodes nodes(7, 0);
  LearnableRows rows(training, book, owners, nodes, Rank(0), 2, Timeouts());

  ASSERT_TRUE(rows.Create(self).ok());
  for (int step = 0; step < 6; ++step) {
    BatchTensors batch;
    batch.features.assign(schema.num_node_types(), torch::empty({0, 0}));
    rows.JoinNothing(&batch);
    ASSERT_TRUE(rows.Push(batch, run).ok());
  }

  const auto type_of = [&](const char* name) { return *schema.FindNodeType(name); };
  const std::map<NodeTypeId, sampler::SparseOptimizer> optimizers = {
      {type_of("user"), {.type = sampler::SparseOptimizerType::kSgd, .weight_decay = 0.25}},
      {type_of("item"),
       {.type = sampler::SparseOptimizerType::kAdam, .duplicates = sampler::DuplicateGradients::kMean}},
      {type_of("shop"), {.type = sampler::SparseOptimizerType::kAdagrad, .initial_accumulator = 0.75}}};
  ASSERT_EQ(owners.specs.size(), 3u);
  for (const job::Input& input : training.inputs) {
    SCOPED_TRACE(input.node_type);
    const NodeTypeId type = type_of(input.node_type.c_str());
    const sampler::EmbeddingSpec& spec = owners.specs[type];
    EXPECT_EQ(spec.width, static_cast<uint32_t>(input.embedding->size));
    EXPECT_EQ(spec.dtype, input.node_type == "item" ? DType::kBF16 : DType::kF32);
    EXPECT_EQ(spec.num_trainers, 2u);
    EXPECT_TRUE(spec.optimizer == optimizers.at(type));
    const std::vector<sampler::StepOfTrainer>& steps = owners.steps[type];
    ASSERT_EQ(steps.size(), 6u);
    for (size_t step = 0; step < 6; ++step) {
      EXPECT_EQ(steps[step].step, step);
      EXPECT_EQ(steps[step].learning_rate,
                LearningRateAt(input.embedding->schedule, input.embedding->optimizer.learning_rate, run,
                               static_cast<int64_t>(step)));
    }
  }
  const auto rate_of_users = [&](size_t step) { return owners.steps[type_of("user")][step].learning_rate; };
  EXPECT_EQ(rate_of_users(1), 0.5);
  EXPECT_EQ(rate_of_users(2), 0.25);
  EXPECT_EQ(rate_of_users(5), 0.125);
}

constexpr char kWithin[] = "rows/within";

// The initializer "rows/within": Uniform over [-x, x], where x is its argument.
class UniformOfAPlugin final : public sampler::RowInitializers {
 public:
  Status CheckExists(const std::string& name) const override {
    if (name == kWithin) return Status();
    return Unimplemented("no initializer '" + name + "'; there are '" + kWithin + "'");
  }

  Status Fill(const sampler::RowsToFill& rows, Deadline) const override {
    const sampler::Initializer& asked = rows.spec.initializer;
    if (asked.arguments.empty()) return InvalidArgument("expected a number, found nothing");
    const double bound = std::stod(asked.arguments);
    sampler::TensorSpec spec = rows.spec;
    spec.initializer = sampler::Initializer::Uniform(-bound, bound, asked.seed);
    const auto original_id = [&](uint64_t row) { return rows.original_ids[row]; };
    shard::FillRows(spec, rows.book, original_id, rows.original_ids.size(), rows.values.data());
    return Status();
  }
};

// Zeros, except for one NaN in the row of every tenth node.
class NanInitializers final : public sampler::RowInitializers {
 public:
  Status CheckExists(const std::string&) const override { return Status(); }

  Status Fill(const sampler::RowsToFill& rows, Deadline) const override {
    auto* const values = reinterpret_cast<float*>(rows.values.data());
    const size_t width = rows.values.size() / sizeof(float) / rows.original_ids.size();
    for (size_t row = 0; row < rows.original_ids.size(); ++row) {
      if (rows.original_ids[row] % 10 == 0) values[row * width] = NAN;
    }
    return Status();
  }
};

graph::SourceGraph GraphOfPluginRows() {
  graph::PowerLawOptions options;
  options.num_nodes = 120;
  options.num_edges = 700;
  options.community_size = 40;
  options.within_community = 0.8;
  options.num_classes = 3;
  options.features = {.width = 4, .dtype = DType::kF32, .signal = 0.3};
  options.split = {.train = 0.4, .validation = 0.2, .test = 0.3};
  options.seed = 5;
  return *graph::GeneratePowerLawGraph(options, 1);
}

job::DistTraining JobThatBeginsWith(const job::RowInitializer& initializer) {
  job::DistTraining job;
  job.name = "rows";
  job.training.task.label = graph::kLabelColumn;
  job.training.task.split = graph::kRandomSplit;
  job.training.inputs = {{"", {}, job::Embedding{.size = 6}}};
  job.training.inputs[0].embedding->initializer = initializer;
  job.training.model.hidden_size = 8;
  job.training.sampling.layers = {{3, {}}};
  job.training.batch_size = 25;
  job.training.epochs = 3;
  job.training.seed = 1;
  return job;
}

job::DistTraining JobOfAPlugin(const std::string& arguments, const std::string& name = kWithin) {
  return JobThatBeginsWith({.type = job::RowInitializerType::kPlugin, .plugin = name, .arguments = arguments});
}

TEST(LearnableRowsTest, StartWithValuesOfPlugin) {
  const graph::SourceGraph source = GraphOfPluginRows();
  const auto plugin = std::make_shared<UniformOfAPlugin>();
  const TrainOutcome built_in = TrainSmall(source, JobThatBeginsWith({.low = -0.25, .high = 0.25}));
  for (const uint32_t partitions : {1u, 3u}) {
    const TrainOutcome outcome =
        TrainSmall(source, JobOfAPlugin("0.25"), {.partitions = partitions, .initializers = plugin});
    EXPECT_EQ(outcome.rows_digest, built_in.rows_digest) << partitions;
    EXPECT_EQ(outcome.parameters_digest, built_in.parameters_digest) << partitions;
  }
  EXPECT_NE(TrainSmall(source, JobOfAPlugin("0.5"), {.initializers = plugin}).rows_digest, built_in.rows_digest);
}

TEST(LearnableRowsTest, ReportErrorOfPlugin) {
  const graph::SourceGraph source = GraphOfPluginRows();
  const auto plugin = std::make_shared<UniformOfAPlugin>();
  const auto error_of = [&](const job::DistTraining& job, const SmallRun& run) {
    return RunSmall(source, job, run).status();
  };
  const Status none = error_of(JobOfAPlugin("1", "rows/around"), {.partitions = 2, .initializers = plugin});
  EXPECT_EQ(none.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(none.message(), HasSubstr("creating learnable rows"));
  EXPECT_THAT(none.message(), HasSubstr("no initializer 'rows/around'; there are 'rows/within'"));
  EXPECT_THAT(error_of(JobOfAPlugin("1"), {}).message(), HasSubstr("no plugins (spec.servers.plugins)"));
  const Status wrong = error_of(JobOfAPlugin(""), {.partitions = 2, .initializers = plugin});
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(wrong.message(), HasSubstr("expected a number, found nothing"));
}

// The model has a hidden layer, whose ReLU must not turn NaN into zero.
TEST(LearnableRowsTest, NanValuesEndRun) {
  job::DistTraining job = JobOfAPlugin("");
  job.training.sampling.layers = {{3, {}}, {3, {}}};
  const auto plugin = std::make_shared<NanInitializers>();
  const Status status = RunSmall(GraphOfPluginRows(), job, {.partitions = 2, .initializers = plugin}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
}

TEST(LearnableRowsTest, ResumeOnlyWithSameInitializer) {
  const graph::SourceGraph source = GraphOfPluginRows();
  const auto plugin = std::make_shared<UniformOfAPlugin>();
  const auto store = std::make_shared<storage::MemoryStore>();
  const TrainOutcome whole = TrainSmall(source, JobOfAPlugin("0.25"), {.initializers = plugin});
  TrainSmall(source, JobOfAPlugin("0.25"), {.store = store, .stop_after = 3, .initializers = plugin});

  const Status other =
      RunSmall(source, JobOfAPlugin("0.5"), {.store = store, .incarnation = 2, .initializers = plugin}).status();
  EXPECT_EQ(other.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.message(), HasSubstr("rows/within of '0.25'"));

  const TrainOutcome resumed =
      TrainSmall(source, JobOfAPlugin("0.25"), {.store = store, .incarnation = 2, .initializers = plugin});
  EXPECT_NE(resumed.resumed_from, "");
  EXPECT_EQ(resumed.rows_digest, whole.rows_digest);
}

}  // namespace
}  // namespace espalier::trainer
