// Link prediction from a document to its metric, with threads as trainers and all partitions in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "services/collective/in_process_collective.h"
#include "services/graph/generators.h"
#include "services/graph/preprocess.h"
#include "services/sampler/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"
#include "services/trainer/sampling_plan.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

constexpr char kLinks[] = "links";

// Deals the edges of a one-way graph out to the parts, then makes it symmetric without the held-out ones.
graph::SourceGraph Split(graph::SourceGraph source, int64_t num_validation, int64_t num_test) {
  graph::EdgeSplit& split = source.edge_splits[kLinks][0];
  const graph::EdgeSet& edges = source.edges[0];
  const int64_t num_edges = edges.sources.num_rows();
  for (int64_t i = 0; i < num_edges; ++i) {
    // Strides over the list: generators write one node's edges together.
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

Result<TrainOutcome> RunRank(const job::DistTraining& job, sampler::PartitionedGraph& graph,
                             collective::Collective& collective, const std::string& output) {
  const graph::GraphSchema& schema = graph.book().schema();
  ASSIGN_OR_RETURN(sampler::SamplingSpec spec, SamplingSpecOf(job.training.sampling, schema, job.training.seed));
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, EpochPlanOf(job.training, schema, collective.size(), collective.rank()));
  sampler::LocalMiniBatchSource source(graph, graph, spec, plan, {});
  TrainOptions options;
  options.inference_chunk_nodes = 64;
  options.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
  if (!output.empty()) options.output = *storage::OpenStore(output);
  return TrainJob(job, {graph, graph, graph, graph}, source, collective, options);
}

Result<TrainOutcome> RunTrainers(const graph::SourceGraph& source, const job::DistTraining& job,
                                 uint32_t num_partitions = 1, uint32_t num_trainers = 1,
                                 const std::string& output = "") {
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(source, num_partitions, 11);
  auto ranks = collective::MakeInProcessGroup(num_trainers);
  std::vector<Result<TrainOutcome>> outcomes(num_trainers, Unavailable("did not run"));
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < num_trainers; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[rank] = RunRank(job, *graph.graph, *ranks[rank], output);
      ranks[rank].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes[0];
}

TrainOutcome Train(const graph::SourceGraph& source, const job::DistTraining& job, uint32_t num_partitions = 1,
                   uint32_t num_trainers = 1) {
  Result<TrainOutcome> outcome = RunTrainers(source, job, num_partitions, num_trainers);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  return outcome.ok() ? *outcome : TrainOutcome();
}

TEST(LinkTrainingTest, LearnsWhichNodesAreNear) {
  job::DistTraining job = LinkJob();
  job.training.epochs = 15;
  job.training.evaluation.metric = job::Metric::kRocAuc;
  job.training.evaluation.candidates = 5;
  const TrainOutcome outcome = Train(Communities(), job);
  ASSERT_TRUE(outcome.test.has_value() && outcome.validation.has_value());
  EXPECT_GT(*outcome.test, 0.65);  // chance: 0.5
  EXPECT_LT(outcome.loop.epochs.back().loss, outcome.loop.epochs.front().loss);
}

TEST(LinkTrainingTest, GivesTheSameBitsForAnyPartitioningAndTheSameStepsForAnyTrainers) {
  for (const auto negatives : {job::Negatives::kUniform, job::Negatives::kJoint, job::Negatives::kInBatch,
                               job::Negatives::kInDegree, job::Negatives::kGlobalUniform}) {
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

TEST(LinkTrainingTest, EveryScorerLossAndMetricRuns) {
  for (const auto scorer :
       {job::Scorer::kDistMult, job::Scorer::kComplEx, job::Scorer::kTransE, job::Scorer::kRotatE}) {
    job::DistTraining job = LinkJob();
    job.training.task.scorer = scorer;
    job.training.task.loss = job::LinkLoss::kCrossEntropy;
    job.training.epochs = 4;
    job.training.evaluation.metric = job::Metric::kHitsAtK;
    job.training.evaluation.k = 300;
    const TrainOutcome outcome = Train(Communities(), job, 2);
    EXPECT_EQ(outcome.test, 1.0) << "every rank is among the first 300";
    EXPECT_LT(outcome.loop.epochs.back().loss, outcome.loop.epochs.front().loss) << static_cast<int>(scorer);
  }
}

// A random graph has nothing to learn but the edges themselves, and features that name each node let a model learn them
// by heart.
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

TEST(LinkTrainingTest, AModelThatLearnsEdgesByHeartKnowsNothingOfThoseHeldOut) {
  const graph::SourceGraph held_out = Split(RandomGraph(), 20, 60);
  const TrainOutcome honest = Train(held_out, MemorisingJob(), 2);
  ASSERT_TRUE(honest.test.has_value());
  // Chance is 0.05; hubs are guessed a little better.
  EXPECT_LT(*honest.test, 0.25);

  // The same model, asked for edges that it was trained on: it does learn by heart.
  graph::SourceGraph shown = held_out;
  graph::EdgeSplit& split = shown.edge_splits[kLinks][0];
  split.test = {{split.train.sources.begin(), split.train.sources.begin() + 60},
                {split.train.destinations.begin(), split.train.destinations.begin() + 60}};
  const TrainOutcome by_heart = Train(shown, MemorisingJob(), 2);
  EXPECT_GT(*by_heart.test, *honest.test + 0.2);
}

TEST(LinkTrainingTest, WritesTheEmbeddingsThatItScores) {
  job::DistTraining job = LinkJob();
  job.training.epochs = 1;
  job.output_save = {job::OutputKind::kModel, job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
  const std::string prefix = testing::TempDir() + "/link-outputs";
  std::filesystem::remove_all(prefix);
  const Result<TrainOutcome> outcome = RunTrainers(Communities(), job, 2, 2, prefix);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_TRUE(std::filesystem::exists(prefix + "/results/000001/model/best.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(prefix + "/results/000001/embeddings"));
  EXPECT_FALSE(std::filesystem::exists(prefix + "/results/000001/predictions"));
}

TEST(LinkTrainingTest, NamesWhatTheGraphDoesNotHave) {
  const auto refusal = [](const std::function<void(job::Task&)>& change) {
    job::DistTraining job = LinkJob();
    change(job.training.task);
    return RunTrainers(Communities(), job).status().message();
  };
  EXPECT_THAT(refusal([](job::Task& task) { task.split = "other"; }), HasSubstr("no split 'other' of edge type"));
  EXPECT_THAT(refusal([](job::Task& task) { task.edge_type = "cites"; }), HasSubstr("spec.training.task.edgeType"));
  EXPECT_THAT(refusal([](job::Task& task) { task.reverse_edge_type = "cited_by"; }),
              HasSubstr("spec.training.task.reverseEdgeType"));
}

}  // namespace
}  // namespace espalier::trainer
