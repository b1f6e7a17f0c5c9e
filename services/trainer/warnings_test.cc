// Missing or implausible labels and undefined metrics are rejected before the first step or reported once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "services/base/file.h"
#include "services/graph/generators.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/testing/community.h"
#include "services/trainer/testing/small_runs.h"

namespace espalier::trainer {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

graph::NodeSplit& GetSplit(graph::SourceGraph& source) { return source.splits.at(graph::kRandomSplit).at(0); }

// Returns the community graph with the labels label_of(node, class).
graph::SourceGraph Relabeled(const std::function<int64_t(uint64_t, int64_t)>& label_of) {
  graph::SourceGraph source = CommunityGraph();
  Tensor& column = source.nodes[0].columns.at(graph::kLabelColumn);
  std::vector<int64_t> labels(source.nodes[0].count);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = label_of(i, column.ValueAsInt(static_cast<int64_t>(i)));
  column = Tensor::FromVector(std::move(labels));
  return source;
}

bool IsIn(const std::vector<uint64_t>& part, uint64_t node) {
  return std::binary_search(part.begin(), part.end(), node);
}

job::DistTraining Job() {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 3;
  return job;
}

TEST(WarningsTest, RunWithoutProblemsHasNoWarnings) {
  EXPECT_THAT(TrainSmall(CommunityGraph(), Job()).warnings, IsEmpty());
}

TEST(WarningsTest, ATrainingPartWithoutLabelsIsRefusedBeforeTheFirstStep) {
  graph::SourceGraph parts = CommunityGraph();
  const std::vector<uint64_t> train = GetSplit(parts).train;
  const graph::SourceGraph source = Relabeled([&](uint64_t node, int64_t c) { return IsIn(train, node) ? -1 : c; });
  for (const uint32_t trainers : {1u, 2u}) {
    const Status refused = RunSmall(source, Job(), {.trainers = trainers}).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("spec.training.task.label: no training node of split 'random' has a label "
                                             "in column 'node-label': all 180 are -1 or NaN"));
  }
}

TEST(WarningsTest, RegressionWithoutTargetsIsRefusedToo) {
  graph::SourceGraph source = CommunityGraph();
  std::vector<float> targets(source.nodes[0].count, 1);
  for (const uint64_t node : GetSplit(source).train) targets[node] = kNan;
  source.nodes[0].columns.at(graph::kLabelColumn) = Tensor::FromVector(std::move(targets));
  job::DistTraining job = Job();
  job.training.task.type = job::TaskType::kNodeRegression;
  job.training.evaluation.metric = job::Metric::kMeanSquaredError;
  EXPECT_THAT(RunSmall(source, job).status().message(), HasSubstr("no training node of split 'random' has a label"));
}

TEST(WarningsTest, ReportsPartiallyLabeledPartsOnce) {
  graph::SourceGraph parts = CommunityGraph();
  const std::vector<uint64_t> train = GetSplit(parts).train, test = GetSplit(parts).test;
  const graph::SourceGraph source = Relabeled([&](uint64_t node, int64_t c) {
    const bool is_unlabeled = std::count(train.begin(), train.begin() + 7, node) + (node == test.front() ? 1 : 0) > 0;
    return is_unlabeled ? -1 : c;
  });
  for (const uint32_t trainers : {1u, 3u}) {
    EXPECT_THAT(TrainSmall(source, Job(), {.partitions = 2, .trainers = trainers}).warnings,
                ElementsAre("split 'random': 7 of 180 training nodes, 1 of 180 test nodes have no label in column "
                            "'node-label': they count neither in the loss nor in metrics"));
  }
}

TEST(WarningsTest, ReportsUnusedClassesWithRemedy) {
  const graph::SourceGraph source = Relabeled([](uint64_t, int64_t c) { return 500 * c; });
  EXPECT_THAT(TrainSmall(source, Job(), {.trainers = 2}).warnings,
              ElementsAre("the largest class in column 'node-label' is 1000, so that the labels need 1001 outputs, but "
                          "only 3 classes occur in split 'random' (0, 500, 1000): number the classes from 0 without "
                          "gaps, unless this is intended"));
}

TEST(WarningsTest, ReportsTrainingPartOfOneClass) {
  const graph::SourceGraph source = Relabeled([](uint64_t, int64_t) { return 0; });
  EXPECT_THAT(TrainSmall(source, Job(), {.trainers = 2}).warnings,
              ElementsAre("split 'random': all training nodes that have a label have the same class of column "
                          "'node-label' (0): a model learns nothing from them"));
}

TEST(WarningsTest, OneLabeledTrainingNodeIsNotReportedAsOneClass) {
  graph::SourceGraph parts = CommunityGraph();
  const std::vector<uint64_t> train = GetSplit(parts).train;
  const graph::SourceGraph source = Relabeled([&](uint64_t node, int64_t) {
    const bool is_unlabeled = node != train.front() && std::count(train.begin(), train.end(), node) > 0;
    return int64_t{is_unlabeled ? -1 : 0};
  });
  EXPECT_THAT(TrainSmall(source, Job(), {.trainers = 2}).warnings,
              ElementsAre(HasSubstr("179 of 180 training nodes have no label")));
}

job::DistTraining RegressionJob() {
  job::DistTraining job = Job();
  job.training.task.type = job::TaskType::kNodeRegression;
  job.training.evaluation.metric = job::Metric::kMeanSquaredError;
  return job;
}

TEST(WarningsTest, ReportsConstantTargets) {
  graph::SourceGraph source = CommunityGraph();
  const auto num_nodes = static_cast<int64_t>(source.nodes[0].count);
  Tensor& column = source.nodes[0].columns.at(graph::kLabelColumn);
  column = Tensor::FromVector(std::vector<float>(source.nodes[0].count, 3.5F));
  EXPECT_THAT(TrainSmall(source, RegressionJob(), {.trainers = 2}).warnings,
              ElementsAre("split 'random': all training nodes that have a target have the same number in column "
                          "'node-label': a model learns nothing but that number"));
  std::vector<float> targets(2 * source.nodes[0].count, 1);
  for (size_t i = 0; i < targets.size(); i += 2) targets[i] = static_cast<float>(i % 7);
  column = Tensor::FromVector(targets, {num_nodes, 2});
  EXPECT_THAT(TrainSmall(source, RegressionJob(), {.trainers = 2}).warnings,
              ElementsAre(HasSubstr("in column 'node-label' at 1 of 2 positions of the target (1): a model learns")));
  for (size_t i = 1; i < targets.size(); i += 2) targets[i] = kNan;
  targets[2 * GetSplit(source).train.front() + 1] = 1;  // a single target at this position
  column = Tensor::FromVector(targets, {num_nodes, 2});
  for (const uint32_t trainers : {1u, 2u}) {
    EXPECT_THAT(TrainSmall(source, RegressionJob(), {.trainers = trainers}).warnings, IsEmpty());
  }
}

TEST(WarningsTest, ReportsMultiLabelClassesWithoutPositives) {
  graph::SourceGraph source = CommunityGraph();
  const std::vector<uint64_t> test = GetSplit(source).test;
  // Class 1 has no positive entry; class 2 has one in the test part only.
  std::vector<float> labels(4 * source.nodes[0].count, 0);
  for (size_t node = 0; node < source.nodes[0].count; ++node) {
    labels[4 * node] = static_cast<float>(node % 2);
    labels[4 * node + 3] = static_cast<float>(node % 3 == 0);
  }
  labels[4 * test.front() + 2] = 1;
  source.nodes[0].columns.at(graph::kLabelColumn) =
      Tensor::FromVector(labels, {static_cast<int64_t>(source.nodes[0].count), 4});
  job::DistTraining job = Job();
  job.training.task.multi_label = true;
  job.training.evaluation.metric = job::Metric::kMicroF1;
  EXPECT_THAT(
      TrainSmall(source, job, {.trainers = 2}).warnings,
      ElementsAre("split 'random': 1 class of the 4 in column 'node-label' occurs on no node (1): check the column "
                  "unless this is intended",
                  HasSubstr("1 class of column 'node-label' occurs on validation or test nodes, but on no "
                            "training node (2)")));
}

TEST(WarningsTest, AGraphWithoutEdgesIsNamed) {
  graph::SourceGraph source = CommunityGraph();
  source.edges[0] = {.sources = Tensor::Zeros(DType::kU32, {0}), .destinations = Tensor::Zeros(DType::kU32, {0})};
  EXPECT_THAT(
      TrainSmall(source, Job(), {.trainers = 2}).warnings,
      ElementsAre(
          "the relations in spec.training.sampling.layers have no edge: the model uses each node without neighbors"));
}

TEST(WarningsTest, ReportsOnceThatAllEdgesAreLaterThanSeeds) {
  graph::SourceGraph source = CommunityGraph();
  source.nodes[0].columns["since"] = Tensor::FromVector(std::vector<int64_t>(source.nodes[0].count, 2020));
  const std::vector<int64_t> times(source.edges[0].num_edges(), 1'577'836'800);  // seconds, not years
  source.edges[0].columns["when"] = Tensor::FromVector(times);
  job::DistTraining job = Job();
  job.training.sampling.draw.time_column = job.graph.time_column = "when";
  job.training.sampling.seed_time = "since";
  job.training.evaluation.neighborhood = job::EvaluationNeighborhood::kSampled;
  for (const uint32_t trainers : {1u, 2u}) {
    EXPECT_THAT(TrainSmall(source, job, {.trainers = trainers}).warnings,
                ElementsAre("no neighbor was sampled in a whole epoch, so each node was trained without neighbors: "
                            "check the direction of the edges; check that column 'since' "
                            "(spec.training.sampling.seedTime) has the unit of spec.graph.timeColumn, because in-edges "
                            "later than their seed are never sampled"));
  }
  source.edges[0].columns["when"] = Tensor::FromVector(std::vector<int64_t>(times.size(), 2019));
  EXPECT_THAT(TrainSmall(source, job).warnings, IsEmpty());
}

TEST(WarningsTest, ClassesOnlyInEvaluationAreNamed) {
  graph::SourceGraph parts = CommunityGraph();
  const std::vector<uint64_t> test = GetSplit(parts).test;
  const graph::SourceGraph source =
      Relabeled([&](uint64_t node, int64_t c) { return node == test.front() ? int64_t{3} : c; });
  EXPECT_THAT(
      TrainSmall(source, Job()).warnings,
      ElementsAre("split 'random': 1 class of column 'node-label' occurs on validation or test nodes, but on no "
                  "training node (3): a model cannot learn it"));
}

TEST(WarningsTest, UndefinedMetricNamesPartReasonAndEarlyStopping) {
  graph::SourceGraph parts = CommunityGraph();
  const std::vector<uint64_t> validation = GetSplit(parts).validation;
  const graph::SourceGraph source = Relabeled([&](uint64_t node, int64_t c) { return IsIn(validation, node) ? 0 : c; });
  job::DistTraining job = Job();
  job.training.evaluation.metric = job::Metric::kRocAuc;
  job.training.evaluation.patience = 1;
  const storage::TemporaryFolder folder;
  const TrainOutcome outcome = TrainSmall(source, job, {.trainers = 2, .output = folder.path()});
  EXPECT_EQ(outcome.loop.epochs.size(), 3u);
  EXPECT_FALSE(outcome.validation.has_value());
  EXPECT_TRUE(outcome.test.has_value());
  EXPECT_THAT(
      outcome.warnings,
      ElementsAre(AllOf(StartsWith("validationRocAuc is undefined and null in the results: among the 120 validation "
                                   "nodes of split 'random', no class has both positive and negative labels"),
                        HasSubstr("early stopping has no effect"))));
  const auto result = nlohmann::json::parse(*espalier::ReadFile(folder.path() + "/result.json", 1 << 20));
  EXPECT_EQ(result["warnings"], nlohmann::json(outcome.warnings));

  const graph::SourceGraph unlabeled =
      Relabeled([&](uint64_t node, int64_t c) { return IsIn(validation, node) ? -1 : c; });
  job.training.evaluation.metric = job::Metric::kAccuracy;
  EXPECT_THAT(
      TrainSmall(unlabeled, job).warnings,
      ElementsAre(HasSubstr("among the 120 validation nodes of split 'random', no row has a label; early stopping")));
}

TEST(WarningsTest, ReportsEmptyPartsTogether) {
  graph::SourceGraph source = CommunityGraph();
  GetSplit(source).validation.clear();
  GetSplit(source).test.clear();
  EXPECT_THAT(TrainSmall(source, Job()).warnings,
              ElementsAre("split 'random' has no validation nodes and no test nodes, so the results contain null for "
                          "validationAccuracy and testAccuracy; the best model is that of the last epoch"));
}

TEST(WarningsTest, AModelThatIsTrainedFurtherHasOutputsForAllClasses) {
  const storage::TemporaryFolder folder;
  job::DistTraining job = Job();
  job.output_save = {job::OutputKind::kModel};
  TrainSmall(CommunityGraph(), job, {.output = folder.path()});
  job.output_save.clear();
  job.training.model.uri = folder.path() + "/results/000001/model/best.safetensors";
  EXPECT_THAT(TrainSmall(CommunityGraph(), job).warnings, IsEmpty());
  const graph::SourceGraph more = Relabeled([](uint64_t, int64_t c) { return c + 1; });
  EXPECT_THAT(RunSmall(more, job).status().message(),
              HasSubstr("the model has 3 outputs, but column 'node-label' has classes up to 3"));
}

TEST(WarningsTest, ReportsMissingEdgeLabels) {
  graph::SourceGraph source = CommunityGraph();
  graph::EdgeSet& edges = source.edges[0];
  std::vector<int64_t> kinds(edges.num_edges());
  graph::EdgeSplit& split = source.edge_splits["rated"][0];
  for (uint64_t i = 0; i < edges.num_edges(); ++i) {
    kinds[i] = i % 5 == 0 ? -1 : static_cast<int64_t>(2 + i % 2);
    if (i >= 100) continue;
    graph::EdgePairs& part = i < 60 ? split.train : i < 80 ? split.validation : split.test;
    part.sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(static_cast<int64_t>(i))));
    part.destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(static_cast<int64_t>(i))));
    part.edge_ids.push_back(i);
  }
  job::DistTraining job = Job();
  job.training.task.type = job::TaskType::kEdgeClassification;
  job.training.task.split = "rated";
  job.training.task.label = "kind";
  edges.columns["kind"] = Tensor::FromVector(kinds);
  EXPECT_THAT(TrainSmall(source, job, {.trainers = 2}).warnings,
              ElementsAre(StartsWith("split 'rated': 12 of 60 training edges, 4 of 20 validation edges, 4 of 20 test "
                                     "edges have no label in column 'kind'"),
                          HasSubstr("the labels need 4 outputs, but only 2 classes occur in split 'rated' (2, 3)")));
  for (size_t i = 0; i < 60; ++i) kinds[i] = -1;
  edges.columns["kind"] = Tensor::FromVector(kinds);
  EXPECT_THAT(RunSmall(source, job).status().message(),
              HasSubstr("no training edge of split 'rated' has a label in column 'kind': all 60 are"));
}

}  // namespace
}  // namespace espalier::trainer
