// Link prediction between nodes of different types, from a document to its metric. Trainers are threads, and all
// partitions are in this process. Ranks are compared to an independent computation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <tuple>

#include "services/format/source/npy_file.h"
#include "services/graph/preprocess.h"
#include "services/job/sampling/link_plan.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/model/model_file.h"
#include "services/trainer/testing/small_runs.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

constexpr char kSales[] = "sales";
constexpr uint32_t kUsers = 40, kItems = 60, kTastes = 4, kItemsOfATaste = kItems / kTastes, kSalesOfAUser = 8;

// A graph in which users buy items of their taste, and each item is similar to the next one of its taste, with the
// reverse relations of both. Of ten edges of a type, one is a validation edge and one a test edge; with `known` these
// are training edges as well.
graph::SourceGraph Shop(bool known) {
  graph::SourceGraph source;
  source.name = "shop";
  source.schema = *graph::GraphSchema::Make({"item", "user"}, {{"item", "similar", "item"}, {"user", "buys", "item"}});
  source.nodes.push_back({.count = kItems});
  source.nodes.push_back({.count = kUsers});
  Tensor features = Tensor::Zeros(DType::kF32, {int64_t{kItems}, 6});
  for (size_t i = 0; i < 6 * kItems; ++i) {
    features.mutable_values<float>()[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
  }
  source.nodes[0].columns["x"] = features;
  for (uint16_t type = 0; type < 2; ++type) {
    const bool buys = source.schema.EdgeType(EdgeTypeId(type)).relation == "buys";
    std::vector<uint32_t> from, to;
    for (uint32_t i = 0; i < (buys ? kUsers * kSalesOfAUser : kItems); ++i) {
      const uint32_t user = i / kSalesOfAUser, nth = 3 * user + 2 * (i % kSalesOfAUser);
      from.push_back(buys ? user : i);
      to.push_back(buys ? user % kTastes + kTastes * (nth % kItemsOfATaste) : (i + kTastes) % kItems);
    }
    graph::EdgeSplit& split = source.edge_splits[kSales][type];
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t place = i * 7 % 10;
      const bool measured = place < 2;
      graph::EdgePairs& part = !measured ? split.train : place == 0 ? split.validation : split.test;
      part.sources.push_back(from[i]);
      part.destinations.push_back(to[i]);
      if (!measured || !known) continue;
      split.train.sources.push_back(from[i]);
      split.train.destinations.push_back(to[i]);
    }
    source.edges.push_back({.sources = Tensor::FromVector(from), .destinations = Tensor::FromVector(to)});
  }
  graph::PreprocessOptions options;
  options.add_reverse_edges = true;
  if (!known) options.held_out = graph::HeldOutEdges{kSales, "", ""};
  return *graph::Preprocess(std::move(source), options, 1);
}

job::Embedding MakeEmbedding(int64_t size) {
  job::Embedding rows;
  rows.size = size;
  rows.initializer.low = -0.1;
  rows.initializer.high = 0.1;
  rows.optimizer.learning_rate = 0.1;
  return rows;
}

// Returns a job with GraphSAGE and the items' features; users have no features.
job::DistTraining ShopJob() {
  job::DistTraining job;
  job.name = "shop";
  job.training.task.type = job::TaskType::kLinkPrediction;
  job.training.task.split = kSales;
  job.training.task.reverse_edges_added = true;
  job.training.task.edge_types = {"rev_buys", "buys"};
  job.training.task.scorer = job::Scorer::kDistMult;
  job.training.task.loss = job::LinkLoss::kCrossEntropy;
  job.training.task.negatives = sampler::NegativeKind::kJoint;
  job.training.task.num_negatives = 8;
  job.training.inputs = {{"item", {"x"}}};
  job.training.model.hidden_size = 16;
  job.training.model.dropout = 0;
  job.training.sampling.layers = {{4, {}}, {4, {}}};
  job.training.batch_size = 64;
  job.training.epochs = 2;
  job.training.seed = 1;
  job.training.evaluation.metric = job::Metric::kMrr;
  return job;
}

void ExpectTheSameForAnyPartitionsAndTrainers(const graph::SourceGraph& source, const job::DistTraining& job,
                                              double tolerance = 1e-4) {
  const TrainOutcome one = TrainSmall(source, job);
  ASSERT_TRUE(one.test.has_value());
  const TrainOutcome four = TrainSmall(source, job, {.partitions = 4});
  EXPECT_EQ(four.parameters_digest, one.parameters_digest);
  EXPECT_EQ(four.rows_digest, one.rows_digest);
  EXPECT_EQ(four.loop.first_epoch_losses, one.loop.first_epoch_losses);
  EXPECT_EQ(four.test, one.test);
  const TrainOutcome two = TrainSmall(source, job, {.partitions = 4, .trainers = 2});
  ASSERT_EQ(two.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
  for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
    EXPECT_NEAR(two.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, tolerance)
        << "step " << step;
  }
  EXPECT_NEAR(*two.test, *one.test, 0.05);
}

TEST(TypedLinkTrainingTest, GivesTheSameBitsForAnyPartitioningAndTheSameStepsForAnyTrainers) {
  const graph::SourceGraph source = Shop(/*known=*/false);
  for (const auto negatives :
       {sampler::NegativeKind::kUniform, sampler::NegativeKind::kJoint, sampler::NegativeKind::kInBatch,
        sampler::NegativeKind::kInDegree, sampler::NegativeKind::kGlobalUniform}) {
    SCOPED_TRACE(static_cast<int>(negatives));
    job::DistTraining job = ShopJob();
    job.training.task.negatives = negatives;
    ExpectTheSameForAnyPartitionsAndTrainers(source, job);
  }
  // All edge types, drawn candidates, and batch normalization, in which ranks without seeds must take part.
  job::DistTraining job = ShopJob();
  job.training.task.edge_types.clear();
  job.training.model.normalization = job::LayerNormalization::kBatch;
  job.training.evaluation.candidates = 20;
  // A node that both trainers sample counts twice in the statistics of batch normalization.
  ExpectTheSameForAnyPartitionsAndTrainers(source, job, 1e-2);
}

TEST(TypedLinkTrainingTest, RowsOfBothNodeTypesOverfitSales) {
  job::DistTraining job = ShopJob();
  job.training.inputs = {{"item", {}, MakeEmbedding(32)}, {"user", {}, MakeEmbedding(32)}};
  job.training.model.type = job::ModelType::kEmbedding;
  job.training.model.hidden_size = 32;
  job.training.sampling.layers.clear();
  ExpectTheSameForAnyPartitionsAndTrainers(Shop(/*known=*/false), job);

  job.training.epochs = 40;
  job.training.evaluation.every_epochs = 40;
  const TrainOutcome outcome = TrainSmall(Shop(/*known=*/true), job, {.partitions = 2});
  ASSERT_TRUE(outcome.test.has_value());
  EXPECT_GT(*outcome.test, 0.25);  // random: 0.1

  // Features of one type pass through a linear map of that type; learnable rows of the other type are used unchanged.
  job.training.inputs[0] = {"item", {"x"}};
  job.training.epochs = 3;
  const TrainOutcome mapped = TrainSmall(Shop(/*known=*/false), job, {.partitions = 2});
  EXPECT_LT(mapped.loop.epochs.back().loss, mapped.loop.epochs.front().loss);
  job.training.inputs.pop_back();
  EXPECT_THAT(RunSmall(Shop(/*known=*/false), job).status().message(),
              HasSubstr("needs features or an embedding of node type 'user'"));
}

// Users have only learnable rows. The first step of Adagrad has the length of the learning rate, however small the
// gradient is, so that rounding differences between numbers of trainers are larger than in the network.
TEST(TypedLinkTrainingTest, RgcnLearnsRowsOfTheTypeWithoutFeatures) {
  job::DistTraining job = ShopJob();
  job.training.model.type = job::ModelType::kRgcn;
  job.training.inputs = {{"item", {"x"}}, {"user", {}, MakeEmbedding(8)}};
  const graph::SourceGraph source = Shop(/*known=*/false);
  ExpectTheSameForAnyPartitionsAndTrainers(source, job, 1e-3);

  const std::string learned = TrainSmall(source, job).rows_digest;
  EXPECT_EQ(learned.size(), 64u);
  job.training.inputs[1].embedding->optimizer.learning_rate = 1e-12;
  EXPECT_NE(TrainSmall(source, job).rows_digest, learned) << "nothing was learned";
}

// The outputs of a run: embeddings of both node types, and one relation vector per edge type.
class WrittenShop {
 public:
  WrittenShop(const std::string& output, const job::DistTraining& job, const graph::SourceGraph& source)
      : source_(source), width_(static_cast<size_t>(job.training.model.hidden_size)) {
    const std::string folder = output + "/results/000001/";
    for (const std::string& type : source.schema.node_types()) {
      const Result<Tensor> rows = format::ReadNpy(folder + "embeddings/" + type + "/values.npy");
      ESPALIER_CHECK(rows.ok()) << rows.status().ToString();
      const auto values = rows->values<float>();
      rows_.emplace_back(values.begin(), values.end());
    }
    const Result<ModelFile> model =
        ReadModelFile(*storage::LocateFile(folder + "model/best.safetensors", storage::OpenerWith({})));
    ESPALIER_CHECK(model.ok()) << model.status().ToString();
    const auto learned = model->content.tensors.at("scorer.relation").values<float>();
    relation_.assign(learned.begin(), learned.end());
    types_ = (*job::MakeLinkPlan(job.training.task, source.schema))->types;
  }

  size_t num_relations() const { return relation_.size() / width_; }
  size_t num_nodes(const std::string& type) const {
    return rows_[source_.schema.FindNodeType(type)->value].size() / width_;
  }

  // Returns the filtered mean reciprocal rank of the test part (DistMult), computed one candidate after the other.
  double Mrr() const {
    std::set<std::tuple<uint16_t, uint64_t, uint64_t>> known;
    for (const auto& [type, split] : source_.edge_splits.at(kSales)) {
      for (const graph::EdgePairs* part : {&split.train, &split.validation, &split.test}) {
        for (size_t i = 0; i < part->size(); ++i) known.insert({type, part->sources[i], part->destinations[i]});
      }
    }
    double sum = 0, count = 0;
    for (size_t relation = 0; relation < types_.size(); ++relation) {
      const EdgeTypeId type = types_[relation].edge_type;
      const graph::EdgePairs& test = source_.edge_splits.at(kSales).at(type.value).test;
      for (size_t i = 0; i < test.size(); ++i) {
        const double own = Score(relation, test.sources[i], test.destinations[i]);
        double rank = 1;
        for (uint64_t node = 0; node < source_.nodes_of(source_.schema.DestinationOf(type)).count; ++node) {
          if (known.contains({type.value, test.sources[i], node})) continue;
          if (Score(relation, test.sources[i], node) > own) ++rank;
        }
        sum += 1 / rank;
        ++count;
      }
    }
    return sum / count;
  }

 private:
  double Score(size_t relation, uint64_t source, uint64_t destination) const {
    const EdgeTypeId type = types_[relation].edge_type;
    const float* const s = &rows_[source_.schema.SourceOf(type).value][source * width_];
    const float* const d = &rows_[source_.schema.DestinationOf(type).value][destination * width_];
    double sum = 0;
    for (size_t i = 0; i < width_; ++i) sum += double{s[i]} * relation_[relation * width_ + i] * d[i];
    return sum;
  }

  const graph::SourceGraph& source_;
  const size_t width_;
  std::vector<std::vector<float>> rows_;  // by NodeTypeId
  std::vector<float> relation_;
  std::vector<sampler::LinkType> types_;
};

TEST(TypedLinkTrainingTest, MetricsMatchWrittenEmbeddingsOfBothTypes) {
  const graph::SourceGraph source = Shop(/*known=*/false);
  const std::vector<std::vector<std::string>> choices = {
      {"buys"}, {"buys", "rev_buys"}, {"similar", "rev_buys", "buys"}, {}};
  for (const std::vector<std::string>& edge_types : choices) {
    job::DistTraining job = ShopJob();
    job.training.task.edge_types = edge_types;
    job.training.epochs = 4;
    job.output_save = {job::OutputKind::kModel, job::OutputKind::kEmbeddings};
    const storage::TemporaryFolder folder;
    const std::string output = folder.path() + "/run";
    const TrainOutcome outcome = TrainSmall(source, job, {.partitions = 3, .trainers = 2, .output = output});
    ASSERT_TRUE(outcome.test.has_value());
    EXPECT_LT(outcome.loop.epochs.back().loss, outcome.loop.epochs.front().loss);
    const WrittenShop written(output, job, source);
    EXPECT_EQ(written.num_relations(), edge_types.empty() ? 4u : edge_types.size());
    EXPECT_EQ(written.num_nodes("user"), kUsers);
    EXPECT_EQ(written.num_nodes("item"), kItems);
    const double expected = written.Mrr();
    EXPECT_NEAR(*outcome.test, expected, 0.03);  // scores that differ only by rounding may change their order
    // The metric must not be trivial, or the comparison would prove nothing.
    EXPECT_GT(expected, 0.02);
    EXPECT_LT(expected, 0.98);
  }
}

TEST(TypedLinkTrainingTest, TrainsOnlyOnChosenEdgeTypes) {
  const graph::SourceGraph source = Shop(/*known=*/false);
  const auto num_training = [&](const char* type) {
    return source.edge_splits.at(kSales).at(source.schema.FindEdgeType(type)->value).train.size();
  };
  job::DistTraining job = ShopJob();
  job.training.epochs = 1;
  const auto num_seeds = [&](std::vector<std::string> types) {
    job.training.task.edge_types = std::move(types);
    return TrainSmall(source, job, {.partitions = 2}).loop.epochs.front().num_seeds;
  };
  EXPECT_EQ(num_seeds({"user:buys:item"}), num_training("buys"));
  EXPECT_EQ(num_seeds({"similar", "buys"}), num_training("buys") + num_training("similar"));
}

// A graph with two relations over nodes of one type: from each node to the next one, and to the one after it.
graph::SourceGraph TwoRings(const std::string& one, const std::string& other) {
  constexpr uint32_t kNodes = 60;
  graph::SourceGraph source;
  source.name = "rings";
  source.schema = *graph::GraphSchema::Make({"n"}, {{"n", one, "n"}, {"n", other, "n"}});
  source.nodes.push_back({.count = kNodes});
  Tensor features = Tensor::Zeros(DType::kF32, {int64_t{kNodes}, 6});
  for (size_t i = 0; i < 6 * kNodes; ++i) {
    features.mutable_values<float>()[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
  }
  source.nodes[0].columns["x"] = features;
  for (uint16_t type = 0; type < 2; ++type) {
    std::vector<uint32_t> from, to;
    graph::EdgeSplit& split = source.edge_splits[kSales][type];
    for (uint32_t node = 0; node < kNodes; ++node) {
      from.push_back(node);
      to.push_back((node + 1 + type) % kNodes);
      graph::EdgePairs& part = node % 10 == 0 ? split.validation : node % 10 == 1 ? split.test : split.train;
      part.sources.push_back(from.back());
      part.destinations.push_back(to.back());
    }
    source.edges.push_back({.sources = Tensor::FromVector(from), .destinations = Tensor::FromVector(to)});
  }
  return source;
}

job::DistTraining RingsJob() {
  job::DistTraining job = ShopJob();
  job.training.task.reverse_edges_added = false;
  job.training.task.edge_types.clear();
  job.training.inputs = {{"", {"x"}}};
  job.output_save = {job::OutputKind::kModel};
  return job;
}

// The names of GraphSAGE's parameters do not contain the relations of such a graph, and other relations in the same
// number have parameters of the same shapes.
TEST(TypedLinkTrainingTest, ModelAppliesOnlyToItsRelations) {
  job::DistTraining job = RingsJob();
  const storage::TemporaryFolder folder;
  const TrainOutcome trained = TrainSmall(TwoRings("a", "b"), job, {.output = folder.path() + "/run"});
  job.training.model.uri = folder.path() + "/run/results/000001/model/best.safetensors";
  job.training.epochs = 0;
  EXPECT_EQ(TrainSmall(TwoRings("a", "b"), job).test, trained.test);
  job.training.task.edge_types = {"n:b:n", "a"};
  EXPECT_EQ(TrainSmall(TwoRings("a", "b"), job).test, trained.test);
  job.training.task.edge_types.clear();
  const Status other = RunSmall(TwoRings("0b", "a"), job).status();
  EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(other.message(), HasSubstr("relation 0 of the scorer is 'n:0b:n', but in the model in"));
  EXPECT_THAT(other.message(), HasSubstr("it is 'n:a:n'"));
}

TEST(TypedLinkTrainingTest, CheckpointResumesOnlyWithItsRelations) {
  const job::DistTraining job = RingsJob();
  const auto store = std::make_shared<storage::MemoryStore>();
  TrainSmall(TwoRings("a", "b"), job, {.store = store, .stop_after = 2});
  const Status other = RunSmall(TwoRings("0b", "a"), job, {.store = store, .incarnation = 2}).status();
  EXPECT_EQ(other.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.message(), HasSubstr("training.task.edgeTypes: the checkpoint has 'n:a:n,n:b:n', this job has "
                                         "'n:0b:n,n:a:n'"));
  EXPECT_NE(TrainSmall(TwoRings("a", "b"), job, {.store = store, .incarnation = 2}).resumed_from, "");
}

TEST(TypedLinkTrainingTest, RefusesUnknownDuplicateAndAmbiguousEdgeTypes) {
  const graph::SourceGraph source = Shop(/*known=*/false);
  const auto refusal = [&](const std::function<void(job::Task&)>& change) {
    job::DistTraining job = ShopJob();
    change(job.training.task);
    return RunSmall(source, job).status().message();
  };
  EXPECT_THAT(refusal([](job::Task& task) {
                task.edge_types = {"buys", "sells"};
              }),
              HasSubstr("spec.training.task.edgeTypes"));
  EXPECT_THAT(refusal([](job::Task& task) {
                task.edge_types = {"buys", "user:buys:item"};
              }),
              HasSubstr("edge type 'user:buys:item' is named twice"));
  EXPECT_THAT(refusal([](job::Task& task) { task.reverse_edge_type = "rev_buys"; }),
              HasSubstr("name spec.training.task.edgeType"));
}

}  // namespace
}  // namespace espalier::trainer
