// Link prediction, from a document to its metric. Trainers are threads, and all partitions are in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <filesystem>
#include <vector>

#include "services/base/philox.h"
#include "services/format/source/npy_file.h"
#include "services/graph/generators.h"
#include "services/graph/preprocess.h"
#include "services/job/enum_names.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/model/model_file.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/outputs.h"
#include "services/trainer/testing/modules.h"
#include "services/trainer/testing/small_runs.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

constexpr char kLinks[] = "links";

// Assigns the edges of a directed graph to the parts, then makes the graph symmetric without the held-out edges.
graph::SourceGraph Split(graph::SourceGraph source, int64_t num_validation, int64_t num_test) {
  graph::EdgeSplit& split = source.edge_splits[kLinks][0];
  const graph::EdgeSet& edges = source.edges[0];
  const int64_t num_edges = edges.sources.num_rows();
  for (int64_t i = 0; i < num_edges; ++i) {
    // Visits the list in strides, because generators write the edges of a node together.
    const int64_t at = i * 7919 % num_edges;
    graph::EdgePairs& part = i < num_validation              ? split.validation
                             : i < num_validation + num_test ? split.test
                                                             : split.train;
    part.sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(at)));
    part.destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(at)));
  }
  const graph::PreprocessOptions options{.add_reverse_edges = true,
                                         .drop_self_loops = true,
                                         .drop_duplicate_edges = true,
                                         .held_out = graph::HeldOutEdges{kLinks, "", ""}};
  return *graph::Preprocess(std::move(source), options, 1);
}

const graph::SourceGraph& Communities() {
  static const graph::SourceGraph* const graph = [] {
    graph::PowerLawOptions options;
    options.num_nodes = 300;
    options.num_edges = 1500;
    options.community_size = 50;
    options.within_community = 0.95;
    options.num_classes = 3;
    options.features = {.width = 16, .dtype = DType::kF32, .signal = 0.3};
    options.seed = 5;
    return new graph::SourceGraph(Split(*graph::GeneratePowerLawGraph(options, 1), 100, 150));
  }();
  return *graph;
}

job::DistTraining LinkJob() {
  job::DistTraining job;
  job.name = "links";
  job.training.task.type = job::TaskType::kLinkPrediction;
  job.training.task.split = kLinks;
  job.training.task.reverse_edges_added = true;
  job.training.task.num_negatives = 4;
  job.training.inputs = {{"", {graph::kFeatureColumn}}};
  job.training.model.hidden_size = 16;
  job.training.model.dropout = 0;
  job.training.sampling.layers = {{5, {}}, {5, {}}};
  job.training.batch_size = 128;
  job.training.epochs = 2;
  job.training.seed = 1;
  job.training.evaluation.metric = job::Metric::kMrr;
  return job;
}

TrainOutcome Train(const graph::SourceGraph& source, const job::DistTraining& job, uint32_t num_partitions = 1,
                   uint32_t num_trainers = 1) {
  return TrainSmall(source, job, {.partitions = num_partitions, .trainers = num_trainers});
}

TEST(LinkTrainingTest, LearnsNearbyNodes) {
  job::DistTraining job = LinkJob();
  job.training.epochs = 15;
  job.training.evaluation.metric = job::Metric::kRocAuc;
  job.training.evaluation.candidates = 5;
  const TrainOutcome outcome = Train(Communities(), job);
  ASSERT_TRUE(outcome.test.has_value() && outcome.validation.has_value());
  EXPECT_GT(*outcome.test, 0.65);  // random guessing gives 0.5
  EXPECT_LT(outcome.loop.epochs.back().loss, outcome.loop.epochs.front().loss);
}

// Runs the operations for GPUs on the CPU, for three scorers, with all nodes as candidates and with drawn candidates.
TEST(LinkTrainingTest, OperationsOfTorchTakeTheSameSteps) {
  for (const job::Scorer scorer : {job::Scorer::kDot, job::Scorer::kDistMult, job::Scorer::kRotatE}) {
    for (const int64_t candidates : {0, 5}) {
      job::DistTraining job = LinkJob();
      job.training.task.scorer = scorer;
      job.training.evaluation.candidates = candidates;
      const TrainOutcome by_kernels = Train(Communities(), job);
      const TorchPathScope torch_path;
      const TrainOutcome by_torch = Train(Communities(), job);
      ASSERT_EQ(by_torch.loop.first_epoch_losses.size(), by_kernels.loop.first_epoch_losses.size());
      for (size_t step = 0; step < by_kernels.loop.first_epoch_losses.size(); ++step) {
        EXPECT_NEAR(by_torch.loop.first_epoch_losses[step] / by_kernels.loop.first_epoch_losses[step], 1.0, 1e-3)
            << job::ToString(scorer);
      }
      EXPECT_NEAR(by_torch.test.value(), by_kernels.test.value(), 0.02) << job::ToString(scorer);
    }
  }
}

// With all nodes as candidates, and with drawn candidates.
TEST(LinkTrainingTest, CountsComputedRows) {
  for (const int64_t candidates : {0, 5}) {
    job::DistTraining job = LinkJob();
    job.training.epochs = 1;
    job.training.evaluation.candidates = candidates;
    std::vector<PhaseReport> reports;
    TrainSmall(Communities(), job, {.phases = &reports});
    EXPECT_THAT(PhaseNames(reports), testing::ElementsAre("Training", "Evaluating", "Writing", "Evaluating", "Writing"))
        << candidates;
    ExpectExactFractions(reports);
  }
}

TEST(LinkTrainingTest, GivesTheSameBitsForAnyPartitioningAndTheSameStepsForAnyTrainers) {
  for (const auto negatives :
       {sampler::NegativeKind::kUniform, sampler::NegativeKind::kJoint, sampler::NegativeKind::kInBatch,
        sampler::NegativeKind::kInDegree, sampler::NegativeKind::kGlobalUniform}) {
    job::DistTraining job = LinkJob();
    job.training.task.negatives = negatives;
    const TrainOutcome one = Train(Communities(), job);
    ASSERT_TRUE(one.test.has_value());
    const TrainOutcome four = Train(Communities(), job, 4);
    EXPECT_EQ(four.parameters_digest, one.parameters_digest) << static_cast<int>(negatives);
    EXPECT_EQ(four.test, one.test);
    const TrainOutcome two = Train(Communities(), job, 2, 2);
    ASSERT_EQ(two.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
    for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
      EXPECT_NEAR(two.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, 1e-4);
    }
    EXPECT_NEAR(*two.test, *one.test, 0.02);
  }
}

// The outputs of a run, and ranks computed from its embeddings with the formulas of link_scorer.h and ranking.h in
// double precision, one pair at a time.
class WrittenRun {
 public:
  WrittenRun(const std::string& output, const job::DistTraining& job)
      : scorer_(job.training.task.scorer), width_(static_cast<size_t>(job.training.model.hidden_size)) {
    const std::string folder = output + "/results/000001/";
    const Result<Tensor> rows = format::ReadNpy(folder + "embeddings/node/values.npy");
    const Result<Tensor> ids = format::ReadNpy(folder + "embeddings/node/ids.npy");
    ESPALIER_CHECK(rows.ok() && ids.ok()) << rows.status().ToString() << ids.status().ToString();
    const auto values = rows->values<float>();
    rows_.assign(values.begin(), values.end());
    for (int64_t row = 0; row < ids->num_rows(); ++row) ESPALIER_CHECK(ids->ValueAsInt(row) == row);
    const Result<ModelFile> model =
        ReadModelFile(*storage::LocateFile(folder + "model/best.safetensors", storage::OpenerWith({})));
    ESPALIER_CHECK(model.ok()) << model.status().ToString();
    const auto relation = model->content.tensors.find("scorer.relation");
    if (relation == model->content.tensors.end()) return;  // Dot
    const auto learned = relation->second.values<float>();
    relation_.assign(learned.begin(), learned.end());
  }

  // Returns the rank of each edge's destination among all nodes.
  std::vector<double> ComputeRanks(const graph::EdgePairs& edges) const {
    std::vector<double> ranks;
    for (size_t i = 0; i < edges.size(); ++i) {
      const double own = Score(edges.sources[i], edges.destinations[i]);
      double rank = 1;
      for (uint64_t node = 0; node < rows_.size() / width_; ++node) {
        if (node != edges.destinations[i] && Score(edges.sources[i], node) > own) ++rank;
      }
      ranks.push_back(rank);
    }
    return ranks;
  }

 private:
  double Score(uint64_t source, uint64_t destination) const {
    using Complex = std::complex<double>;
    const float *s = &rows_[source * width_], *d = &rows_[destination * width_], *r = relation_.data();
    const size_t half = width_ / 2;
    const auto complex = [half](const float* row, size_t i) { return Complex(row[i], row[half + i]); };
    double sum = 0;
    switch (scorer_) {
      case job::Scorer::kDot:
        for (size_t i = 0; i < width_; ++i) sum += double{s[i]} * d[i];
        return sum;
      case job::Scorer::kDistMult:
        for (size_t i = 0; i < width_; ++i) sum += double{s[i]} * r[i] * d[i];
        return sum;
      case job::Scorer::kComplEx:
        for (size_t i = 0; i < half; ++i) sum += (complex(s, i) * complex(r, i) * std::conj(complex(d, i))).real();
        return sum;
      case job::Scorer::kTransE:
        for (size_t i = 0; i < width_; ++i) sum -= std::abs(double{s[i]} + r[i] - d[i]);
        return sum;
      case job::Scorer::kRotatE:
        for (size_t i = 0; i < half; ++i)
          sum -= std::abs(complex(s, i) * std::polar(1.0, double{r[i]}) - complex(d, i));
        return sum;
    }
    return NAN;
  }

  const job::Scorer scorer_;
  const size_t width_;
  std::vector<float> rows_, relation_;
};

// Scores that differ only by rounding may change their order.
constexpr double kRounding = 0.01;

TEST(LinkTrainingTest, MetricsMatchWrittenEmbeddingsAndScorer) {
  const graph::EdgePairs& test = Communities().edge_splits.at(kLinks).at(0).test;
  for (const auto scorer :
       {job::Scorer::kDot, job::Scorer::kDistMult, job::Scorer::kComplEx, job::Scorer::kTransE, job::Scorer::kRotatE}) {
    const std::string name = job::ToString(scorer);
    job::DistTraining job = LinkJob();
    job.training.task.scorer = scorer;
    job.training.task.loss = job::LinkLoss::kCrossEntropy;
    job.training.epochs = 4;
    job.training.evaluation.filtered = false;
    job.output_save = {job::OutputKind::kModel, job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
    const storage::TemporaryFolder folder;
    const std::string output = folder.path() + "/outputs";
    for (const auto metric : {job::Metric::kMrr, job::Metric::kHitsAtK}) {
      job.training.evaluation.metric = metric;
      std::filesystem::remove_all(output);
      const Result<TrainOutcome> outcome =
          RunSmall(Communities(), job, {.partitions = 2, .trainers = 2, .output = output});
      ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
      EXPECT_LT(outcome->loop.epochs.back().loss, outcome->loop.epochs.front().loss) << name;
      const std::vector<double> ranks = WrittenRun(output, job).ComputeRanks(test);
      ASSERT_EQ(ranks.size(), 150u);
      double expected = 0;
      for (const double rank : ranks) expected += metric == job::Metric::kMrr ? 1 / rank : rank <= 10 ? 1 : 0;
      expected /= static_cast<double>(ranks.size());
      ASSERT_TRUE(outcome->test.has_value());
      EXPECT_NEAR(*outcome->test, expected, kRounding) << name;
      // The metric must not be trivial, or the comparison would prove nothing.
      EXPECT_GT(expected, kRounding) << name;
      EXPECT_LT(expected, 1 - kRounding) << name;
    }
    EXPECT_FALSE(std::filesystem::exists(output + "/results/000001/predictions"));
  }
}

TEST(LinkTrainingTest, EmbeddingsAreAsWideAsAModuleMakesThem) {
  job::DistTraining job = LinkJob();
  job.training.model = {};
  job.training.model.type = job::ModelType::kTorchScript;
  const storage::TemporaryFolder folder;
  job.training.model.uri = folder.path() + "/module.pt";
  job.training.epochs = 4;
  MeanModule(16, 16, 11).save(job.training.model.uri);
  const TrainOutcome outcome = Train(Communities(), job);
  EXPECT_EQ(outcome.num_outputs, 11);
  ASSERT_TRUE(outcome.test.has_value());
  EXPECT_LT(outcome.loop.epochs.back().loss, outcome.loop.epochs.front().loss);

  for (const auto scorer : {job::Scorer::kComplEx, job::Scorer::kRotatE}) {
    job.training.task.scorer = scorer;
    const Status refusal = RunSmall(Communities(), job).status();
    EXPECT_EQ(refusal.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refusal.message(), HasSubstr("spec.training.model.uri: the model's embeddings have width 11, but " +
                                             std::string(job::ToString(scorer)) + " needs an even width"));
  }
}

TEST(LinkTrainingTest, NegativesThatDoNotFitAreRefusedBeforeTheFirstStep) {
  job::DistTraining job = LinkJob();
  job.training.batch_size = int64_t{1} << 24;
  job.training.task.num_negatives = 1 << 5;
  for (const uint32_t num_trainers : {1u, 2u}) {  // 2^29 and 2^28 negatives, 16 values each
    const Status status = RunSmall(Communities(), job, {.trainers = num_trainers}).status();
    if (num_trainers == 2) {
      EXPECT_TRUE(status.ok()) << status.ToString();  // the split has far fewer edges
      continue;
    }
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(),
                HasSubstr("spec.training.task.negatives.count: a trainer's share of a step has 536870912 negatives, "
                          "expected at most 268435456"));
  }
}

TEST(LinkTrainingTest, RefusesOutputsOfNodeTask) {
  job::DistTraining job = LinkJob();
  job.training.task.scorer = job::Scorer::kComplEx;
  const storage::TemporaryFolder folder;
  RunFacts facts;
  facts.job = job;
  facts.num_outputs = 7;
  facts.incarnation = 1;
  const auto outputs = Outputs::Open(*storage::OpenStore(folder.path()), facts);
  ASSERT_TRUE(outputs.ok() && (*outputs)->WriteModel("best", {}).ok());
  job.training.model.uri = folder.path() + "/results/000001/model/best.safetensors";
  const Status refusal = RunSmall(Communities(), job).status();
  EXPECT_EQ(refusal.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refusal.message(), HasSubstr("spec.training.model.uri: the model has 7 outputs, expected "
                                           "spec.training.model.hiddenSize (16)"));
}

// A random graph with one-hot features. The edges have no structure, but the features identify the nodes, so that a
// model can memorize the edges.
graph::SourceGraph RandomGraph() {
  constexpr int64_t kNodes = 100;
  graph::PowerLawOptions options;
  options.num_nodes = kNodes;
  options.num_edges = 400;
  options.within_community = 0;
  options.seed = 9;
  graph::SourceGraph source = *graph::GeneratePowerLawGraph(options, 1);
  Tensor names = Tensor::Zeros(DType::kF32, {kNodes, kNodes});
  for (int64_t i = 0; i < kNodes; ++i) names.mutable_values<float>()[static_cast<size_t>(i * kNodes + i)] = 1;
  source.nodes[0].columns[graph::kFeatureColumn] = names;
  return source;
}

job::DistTraining MemorisingJob() {
  job::DistTraining job = LinkJob();
  job.training.task.loss = job::LinkLoss::kCrossEntropy;
  job.training.task.num_negatives = 20;
  job.training.sampling.layers = {{10, {}}};
  job.training.model.hidden_size = 64;
  job.training.epochs = 60;
  job.training.evaluation.every_epochs = 60;
  return job;
}

// Replaces the test edges of the split by the first training edges.
graph::SourceGraph WithTrainingEdgesAsTest(graph::SourceGraph source) {
  graph::EdgeSplit& split = source.edge_splits[kLinks][0];
  const auto count = static_cast<std::ptrdiff_t>(split.test.size());
  split.test = {{split.train.sources.begin(), split.train.sources.begin() + count},
                {split.train.destinations.begin(), split.train.destinations.begin() + count}};
  return source;
}

TEST(LinkTrainingTest, OverfittedModelDoesNotPredictHeldOutEdges) {
  const graph::SourceGraph held_out = Split(RandomGraph(), 20, 60);
  const TrainOutcome honest = Train(held_out, MemorisingJob());
  ASSERT_TRUE(honest.test.has_value());
  // Random guessing gives 0.05; edges of hubs can be guessed a little better.
  EXPECT_LT(*honest.test, 0.25);
  const TrainOutcome four = Train(held_out, MemorisingJob(), 4);
  EXPECT_EQ(four.parameters_digest, honest.parameters_digest);
  EXPECT_EQ(four.test, honest.test);

  // The same model, tested with edges that it was trained on, does memorize them.
  const TrainOutcome by_heart = Train(WithTrainingEdgesAsTest(held_out), MemorisingJob(), 4);
  EXPECT_GT(*by_heart.test, *honest.test + 0.2);
}

// A random graph of Cora's size whose features are nearly orthogonal unit vectors, one per node.
graph::SourceGraph NamedNodes() {
  constexpr int64_t kNodes = 2708, kWidth = 256;
  graph::PowerLawOptions options;
  options.num_nodes = kNodes;
  options.num_edges = 5278;
  options.within_community = 0;
  options.seed = 10;
  graph::SourceGraph source = *graph::GeneratePowerLawGraph(options, 1);
  PhiloxStream random(11, 0);
  std::vector<float> names(kNodes * kWidth);
  for (float& value : names) value = random.NextBelow(2) == 0 ? -1.0f / 16 : 1.0f / 16;
  source.nodes[0].columns[graph::kFeatureColumn] = Tensor::FromVector(std::move(names), {kNodes, kWidth});
  return source;
}

// A model that returns the sum of a node's feature and the mean of its neighbors' features, times a scale. If an edge
// is in the sampled graph, each endpoint contains the feature of the other, so that the edge scores far above all
// others.
torch::jit::Module NeighborRevealingModule() {
  torch::jit::Module module("Hearsay");
  if (!module.hasattr("training")) module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("scale", torch::full({1}, 4.0f).set_requires_grad(true), /*is_buffer=*/false);
  module.define(ForwardOfMean("    y = (h[:degree.size(0)] + mean) * self.scale\n"));
  return module;
}

TEST(LinkTrainingTest, NeighborsRevealNoHeldOutOrBatchEdge) {
  job::DistTraining job = LinkJob();
  job.training.task.loss = job::LinkLoss::kCrossEntropy;
  job.training.task.num_negatives = 20;
  job.training.sampling.layers = {{25, {}}};
  job.training.batch_size = 1024;
  job.training.epochs = 1;
  job.training.model = {};
  job.training.model.type = job::ModelType::kTorchScript;
  const storage::TemporaryFolder folder;
  job.training.model.uri = folder.path() + "/module.pt";
  NeighborRevealingModule().save(job.training.model.uri);

  const graph::SourceGraph held_out = Split(NamedNodes(), 264, 528);
  const graph::SourceGraph shown = WithTrainingEdgesAsTest(held_out);
  std::vector<TrainOutcome> outcomes;
  for (const uint32_t num_partitions : {1u, 4u}) {
    const TrainOutcome honest = Train(held_out, job, num_partitions);
    const TrainOutcome told = Train(shown, job, num_partitions);
    ASSERT_TRUE(honest.test.has_value() && told.test.has_value());
    EXPECT_LT(*honest.test, 0.05) << num_partitions;  // random: 0.003
    EXPECT_GT(*told.test, 0.25) << num_partitions;    // edges of the graph are visible
    // During training the edges of the mini-batch must not be visible: guessing among 21 gives log(21) = 3.04.
    for (const double loss : honest.loop.first_epoch_losses) EXPECT_GT(loss, 2.5) << num_partitions;
    outcomes.push_back(honest);
  }
  EXPECT_EQ(outcomes[1].parameters_digest, outcomes[0].parameters_digest);
  EXPECT_EQ(outcomes[1].test, outcomes[0].test);
}

TEST(LinkTrainingTest, NamesPartsMissingInGraph) {
  const auto refusal = [](const std::function<void(job::Task&)>& change) {
    job::DistTraining job = LinkJob();
    change(job.training.task);
    return RunSmall(Communities(), job).status().message();
  };
  EXPECT_THAT(refusal([](job::Task& task) { task.split = "other"; }), HasSubstr("no split 'other' of edge type"));
  EXPECT_THAT(refusal([](job::Task& task) { task.edge_type = "cites"; }), HasSubstr("spec.training.task.edgeType"));
  EXPECT_THAT(refusal([](job::Task& task) { task.reverse_edge_type = "cited_by"; }),
              HasSubstr("spec.training.task.reverseEdgeType"));
}

}  // namespace
}  // namespace espalier::trainer
