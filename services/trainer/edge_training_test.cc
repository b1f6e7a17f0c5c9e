// Edge classification and regression, from a document to predictions. Trainers are threads, and all partitions are in
// this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <span>

#include "services/format/source/npy_file.h"
#include "services/graph/generators.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/outputs.h"
#include "services/trainer/testing/small_runs.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

constexpr char kRatings[] = "ratings";
constexpr int64_t kRaters = 160, kKinds = 4;

int64_t ClassOfEdge(int64_t source, int64_t destination) { return (source % kKinds + 2 * (destination % kKinds)) % 3; }
float ValueOfEdge(int64_t source, int64_t destination) {
  return static_cast<float>(source % kKinds) - 0.5F * static_cast<float>(destination % kKinds);
}

// A graph with nodes of four kinds, which are their features, and distinct edges, whose labels are functions of the
// kinds of both endpoints: "kind" is a class (the first edge has no label), "value" a number, "tags" two binary values.
graph::SourceGraph Ratings() {
  graph::PowerLawOptions options;
  options.num_nodes = kRaters;
  options.num_edges = 1600;
  options.within_community = 0;
  options.seed = 4;
  graph::SourceGraph source = *graph::GeneratePowerLawGraph(options, 1);
  Tensor features = Tensor::Zeros(DType::kF32, {kRaters, kKinds});
  for (int64_t i = 0; i < kRaters; ++i) {
    features.mutable_values<float>()[static_cast<size_t>(i * kKinds + i % kKinds)] = 1;
  }
  source.nodes[0].columns = {{graph::kFeatureColumn, features}};
  std::set<std::pair<int64_t, int64_t>> ends;
  for (int64_t i = 0; i < source.edges[0].sources.num_rows(); ++i) {
    ends.emplace(source.edges[0].sources.ValueAsInt(i), source.edges[0].destinations.ValueAsInt(i));
  }
  std::vector<int64_t> sources, destinations, kinds;
  std::vector<float> values, tags;
  for (const auto& [u, v] : ends) {
    sources.push_back(u);
    destinations.push_back(v);
    kinds.push_back(kinds.empty() ? -1 : ClassOfEdge(u, v));
    values.push_back(ValueOfEdge(u, v));
    tags.insert(tags.end(), {u % kKinds == 0 ? 1.0F : 0.0F, v % kKinds < 2 ? 1.0F : 0.0F});
  }
  graph::EdgeSplit& split = source.edge_splits[kRatings][0];
  const auto count = static_cast<int64_t>(ends.size());
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i * 7919 % count);  // visits the sorted list in strides
    graph::EdgePairs& part = i % 10 < 7 ? split.train : i % 10 < 8 ? split.validation : split.test;
    part.sources.push_back(static_cast<uint64_t>(sources[at]));
    part.destinations.push_back(static_cast<uint64_t>(destinations[at]));
  }
  source.edges[0] = {.sources = Tensor::FromVector(std::move(sources)),
                     .destinations = Tensor::FromVector(std::move(destinations)),
                     .columns = {{"kind", Tensor::FromVector(std::move(kinds))},
                                 {"value", Tensor::FromVector(std::move(values))},
                                 {"tags", Tensor::FromVector(std::move(tags), {count, 2})}},
                     .original_ids = {}};
  return source;
}

const graph::SourceGraph& RatingsOnce() {
  static const graph::SourceGraph* const graph = new graph::SourceGraph(Ratings());
  return *graph;
}

job::DistTraining RatingJob(job::TaskType type, const std::string& label) {
  job::DistTraining job;
  job.name = "ratings";
  job.training.task.type = type;
  job.training.task.split = kRatings;
  job.training.task.label = label;
  job.training.inputs = {{"", {graph::kFeatureColumn}}};
  job.training.model.hidden_size = 16;
  job.training.model.dropout = 0;
  job.training.sampling.layers = {{5, {}}};
  job.training.batch_size = 128;
  job.training.epochs = 2;
  job.training.seed = 1;
  job.training.evaluation.metric =
      type == job::TaskType::kEdgeRegression ? job::Metric::kMeanSquaredError : job::Metric::kAccuracy;
  return job;
}

Result<TrainOutcome> RunRatings(const job::DistTraining& job, uint32_t num_partitions = 1, uint32_t num_trainers = 1,
                                const std::string& output = "", const graph::SourceGraph& source = RatingsOnce()) {
  return RunSmall(source, job, {.partitions = num_partitions, .trainers = num_trainers, .output = output});
}

TrainOutcome TrainRatings(const job::DistTraining& job, uint32_t num_partitions = 1, uint32_t num_trainers = 1) {
  return TrainSmall(RatingsOnce(), job, {.partitions = num_partitions, .trainers = num_trainers});
}

TEST(EdgeTrainingTest, LearnsClassesOfEdges) {
  job::DistTraining job = RatingJob(job::TaskType::kEdgeClassification, "kind");
  job.training.epochs = 60;
  job.training.evaluation.every_epochs = 10;
  const TrainOutcome outcome = TrainRatings(job);
  ASSERT_TRUE(outcome.test.has_value() && outcome.validation.has_value());
  EXPECT_GT(*outcome.test, 0.7);  // the most frequent class has a little more than a third
  EXPECT_LT(outcome.loop.epochs.back().loss, outcome.loop.epochs.front().loss);
}

// The products of the layers and of the head for edges are in BF16.
TEST(EdgeTrainingTest, LearnsInBf16) {
  job::DistTraining job = RatingJob(job::TaskType::kEdgeClassification, "kind");
  job.training.epochs = 20;
  const TrainOutcome in_f32 = TrainRatings(job);
  job.training.precision = job::Precision::kBf16;
  const TrainOutcome in_bf16 = TrainRatings(job);
  EXPECT_EQ(TrainRatings(job, 4).parameters_digest, in_bf16.parameters_digest);
  EXPECT_NE(in_bf16.parameters_digest, in_f32.parameters_digest);
  EXPECT_NEAR(in_bf16.loop.epochs.back().loss / in_f32.loop.epochs.back().loss, 1.0, 0.1);
}

TEST(EdgeTrainingTest, CountsComputedAndWrittenRows) {
  job::DistTraining job = RatingJob(job::TaskType::kEdgeClassification, "kind");
  job.training.epochs = 1;
  job.output_save = {job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
  const storage::TemporaryFolder folder;
  std::vector<PhaseReport> reports;
  TrainSmall(RatingsOnce(), job, {.output = folder.path() + "/out", .phases = &reports});
  EXPECT_THAT(PhaseNames(reports), testing::ElementsAre("Training", "Evaluating", "Writing", "Evaluating", "Embedding",
                                                        "Writing", "Embedding", "Writing"));
  for (const PhaseReport& report : reports) {
    EXPECT_LE(report.fraction.value_or(0), 1);
  }
}

TEST(EdgeTrainingTest, LearnsValuesOfEdges) {
  job::DistTraining job = RatingJob(job::TaskType::kEdgeRegression, "value");
  job.training.epochs = 40;
  job.training.evaluation.every_epochs = 10;
  const TrainOutcome outcome = TrainRatings(job);
  ASSERT_TRUE(outcome.test.has_value());
  EXPECT_LT(*outcome.test, 0.4);  // the labels have a variance of about 1.56
}

TEST(EdgeTrainingTest, LearnsSeveralLabelsOfAnEdge) {
  job::DistTraining job = RatingJob(job::TaskType::kEdgeClassification, "tags");
  job.training.task.multi_label = true;
  job.training.evaluation.metric = job::Metric::kMicroF1;
  job.training.epochs = 40;
  job.training.evaluation.every_epochs = 10;
  const TrainOutcome outcome = TrainRatings(job);
  ASSERT_TRUE(outcome.test.has_value());
  EXPECT_GT(*outcome.test, 0.8);
}

TEST(EdgeTrainingTest, GivesTheSameBitsForAnyPartitioningAndTheSameStepsForAnyTrainers) {
  for (const auto exclude : {job::ExcludeEdges::kNone, job::ExcludeEdges::kReverseEdges}) {
    job::DistTraining job = RatingJob(job::TaskType::kEdgeClassification, "kind");
    job.training.task.exclude = exclude;
    job.training.task.reverse_edge_type = exclude == job::ExcludeEdges::kReverseEdges ? "edge" : "";
    const TrainOutcome one = TrainRatings(job);
    ASSERT_TRUE(one.test.has_value());
    const TrainOutcome four = TrainRatings(job, 4);
    EXPECT_EQ(four.parameters_digest, one.parameters_digest);
    EXPECT_EQ(four.test, one.test);
    const TrainOutcome two = TrainRatings(job, 2, 2);
    ASSERT_EQ(two.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
    for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
      EXPECT_NEAR(two.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, 1e-4);
    }
    EXPECT_NEAR(*two.test, *one.test, 0.03);
  }
}

TEST(EdgeTrainingTest, TrainsLearnableRowsToTheSameBitsForAnyPartitioning) {
  for (const auto type : {job::TaskType::kEdgeClassification, job::TaskType::kEdgeRegression}) {
    const std::string label = type == job::TaskType::kEdgeClassification ? "kind" : "value";
    job::DistTraining job = RatingJob(type, label);
    job.training.inputs = {{"", {}, job::Embedding{.size = 8}}};
    const TrainOutcome one = TrainRatings(job);
    const TrainOutcome four = TrainRatings(job, 4);
    EXPECT_EQ(four.parameters_digest, one.parameters_digest) << label;
    EXPECT_EQ(four.rows_digest, one.rows_digest) << label;
    EXPECT_EQ(four.test, one.test) << label;
    job.training.inputs[0].embedding->optimizer.learning_rate = 1e-12;
    EXPECT_NE(TrainRatings(job).rows_digest, one.rows_digest) << "nothing was learned";
  }
}

TEST(EdgeTrainingTest, ExcludedEdgesAreNotSampled) {
  job::DistTraining job = RatingJob(job::TaskType::kEdgeRegression, "value");
  job.training.sampling.layers = {{-1, {}}};
  const TrainOutcome none = TrainRatings(job);
  job.training.task.exclude = job::ExcludeEdges::kSelf;
  EXPECT_NE(TrainRatings(job).parameters_digest, none.parameters_digest);
}

// The predictions or logits that a run has written for one part.
struct WrittenPart {
  Tensor sources, destinations, values;
};

WrittenPart ReadPart(const std::string& output, const std::string& kind, const std::string& part) {
  const std::string folder = output + "/results/000001/" + kind + "/" + part + "/";
  const auto read = [&](const char* name) {
    const Result<Tensor> array = format::ReadNpy(folder + name);
    ESPALIER_CHECK(array.ok()) << array.status().ToString();
    return *array;
  };
  return {read("sources.npy"), read("destinations.npy"), read("values.npy")};
}

TEST(EdgeTrainingTest, WritesPredictionsForEdgesOfSplit) {
  job::DistTraining job = RatingJob(job::TaskType::kEdgeClassification, "kind");
  job.training.epochs = 6;
  job.output_save = {job::OutputKind::kModel, job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
  const storage::TemporaryFolder folder;
  const std::string output = folder.path() + "/trained";
  const Result<TrainOutcome> outcome = RunRatings(job, 3, 2, output);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  const graph::EdgeSplit& split = RatingsOnce().edge_splits.at(kRatings).at(0);
  const std::pair<const char*, const graph::EdgePairs*> parts[] = {
      {"train", &split.train}, {"validation", &split.validation}, {"test", &split.test}};
  for (const auto& [part, pairs] : parts) {
    const WrittenPart predicted = ReadPart(output, "predictions", part);
    const WrittenPart logits = ReadPart(output, "logits", part);
    ASSERT_EQ(predicted.values.num_rows(), static_cast<int64_t>(pairs->size()));
    ASSERT_EQ(logits.values.shape(), (std::vector<int64_t>{static_cast<int64_t>(pairs->size()), 3}));
    int64_t right = 0, labeled = 0;
    for (size_t i = 0; i < pairs->size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const auto u = static_cast<int64_t>(pairs->sources[i]), v = static_cast<int64_t>(pairs->destinations[i]);
      ASSERT_EQ(predicted.sources.ValueAsInt(row), u);
      ASSERT_EQ(predicted.destinations.ValueAsInt(row), v);
      const std::span<const float> scores = logits.values.values<float>().subspan(3 * i, 3);
      const int64_t value = predicted.values.values<int64_t>()[i];
      EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), value);
      const bool has_label = i > 0 || pairs != &split.train;  // i = 0 is the first edge of the graph
      labeled += has_label ? 1 : 0;
      right += has_label && value == ClassOfEdge(u, v) ? 1 : 0;
    }
    const double accuracy = static_cast<double>(right) / static_cast<double>(labeled);
    if (pairs == &split.train) continue;
    EXPECT_DOUBLE_EQ(pairs == &split.test ? *outcome->test : *outcome->validation, accuracy);
  }
  EXPECT_TRUE(std::filesystem::exists(output + "/results/000001/embeddings/node/values.npy"));

  // Applying the saved model gives the same results.
  job.training.model.uri = output + "/results/000001/model/best.safetensors";
  job.training.epochs = 0;
  const std::string applied = folder.path() + "/applied";
  const Result<TrainOutcome> again = RunRatings(job, 2, 1, applied);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->test, outcome->test);
  const WrittenPart before = ReadPart(output, "logits", "test"), after = ReadPart(applied, "logits", "test");
  EXPECT_TRUE(std::ranges::equal(before.values.byte_span(), after.values.byte_span()));

  // It also applies to edges without labels. Without the split, nothing is written.
  graph::SourceGraph plain = RatingsOnce();
  plain.edges[0].columns.clear();
  std::filesystem::remove_all(applied);
  const Result<TrainOutcome> unlabeled = RunRatings(job, 2, 1, applied, plain);
  ASSERT_TRUE(unlabeled.ok()) << unlabeled.status().ToString();
  EXPECT_FALSE(unlabeled->test.has_value());
  const WrittenPart guessed = ReadPart(applied, "logits", "test");
  EXPECT_TRUE(std::ranges::equal(before.values.byte_span(), guessed.values.byte_span()));
  plain.edge_splits.clear();
  std::filesystem::remove_all(applied);
  const Status no_split = RunRatings(job, 2, 1, applied, plain).status();
  EXPECT_TRUE(no_split.ok()) << no_split.ToString();
  EXPECT_FALSE(std::filesystem::exists(applied + "/results/000001/predictions"));
}

TEST(EdgeTrainingTest, NamesPartsMissingInGraphOrModel) {
  const auto refusal = [](const std::function<void(job::DistTraining&)>& change) {
    job::DistTraining job = RatingJob(job::TaskType::kEdgeClassification, "kind");
    change(job);
    return RunRatings(job).status().message();
  };
  EXPECT_THAT(refusal([](job::DistTraining& job) { job.training.task.split = "other"; }),
              HasSubstr("no split 'other' of edge type"));
  EXPECT_THAT(refusal([](job::DistTraining& job) { job.training.task.label = "stars"; }),
              HasSubstr("has no column 'stars'; it has 'kind', 'tags', 'value'"));
  EXPECT_THAT(refusal([](job::DistTraining& job) { job.training.task.label = "tags"; }),
              HasSubstr("has 2 values per edge; expected one class (or multiLabel: true)"));
  EXPECT_THAT(refusal([](job::DistTraining& job) { job.training.task.label = "value"; }),
              HasSubstr("edge column 'value'"));
  EXPECT_THAT(refusal([](job::DistTraining& job) { job.training.task.edge_type = "rates"; }),
              HasSubstr("spec.training.task.edgeType"));
  EXPECT_THAT(refusal([](job::DistTraining& job) { job.training.task.exclude = job::ExcludeEdges::kReverseEdges; }),
              HasSubstr("spec.training.task.exclude"));

  // A model that was trained for another task.
  const storage::TemporaryFolder folder;
  RunFacts facts;
  facts.job = RatingJob(job::TaskType::kNodeClassification, "kind");
  facts.num_outputs = 16;
  facts.incarnation = 1;
  const auto outputs = Outputs::Open(*storage::OpenStore(folder.path()), facts);
  ASSERT_TRUE(outputs.ok() && (*outputs)->WriteModel("best", {}).ok());
  EXPECT_THAT(refusal([&](job::DistTraining& job) {
                job.training.model.uri = folder.path() + "/results/000001/model/best.safetensors";
              }),
              HasSubstr("was made for another task: it has no head for edges"));
}

}  // namespace
}  // namespace espalier::trainer
