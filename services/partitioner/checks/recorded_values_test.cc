// Tests of CheckRecordedValues with names that RecordValues has filled or that the test has set.
#include "services/partitioner/checks/recorded_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "services/partitioner/checks/value_facts.h"
#include "services/partitioner/testing/library_job.h"

namespace espalier::partitioner {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns a graph of three papers that cite each other and an author of one of them.
graph::SourceGraph SmallLibrary() {
  graph::SourceGraph graph;
  graph.schema =
      *graph::GraphSchema::Make({"author", "paper"}, {{"author", "writes", "paper"}, {"paper", "cites", "paper"}});
  graph.nodes.resize(2);
  graph.nodes[0].count = 1;
  graph.nodes[1].count = 3;
  graph.nodes[1].columns["feat"] = Tensor::Zeros(DType::kF32, {3, 2});
  graph.nodes[1].columns["topic"] = Tensor::FromVector(std::vector<int64_t>{0, 1, 0});
  graph.edges.resize(2);
  graph.edges[0].sources = graph.edges[0].destinations = Tensor::FromVector(std::vector<uint32_t>{0});
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0});
  graph.edges[1].sources = Tensor::FromVector(std::vector<uint32_t>{0, 1, 2});
  graph.edges[1].destinations = Tensor::FromVector(std::vector<uint32_t>{1, 2, 0});
  graph.edges[1].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 0.5F, 1});
  graph.splits["time"][1] = {.train = {0}, .validation = {1}, .test = {2}};
  return graph;
}

const job::ParsedJob& WeightedJob() {
  static const job::ParsedJob job = LibraryJob({{"training.sampling.weight", "strength"}});
  return job;
}

Status CheckRecorded(const GraphMetadata& metadata) {
  return CheckRecordedValues(WeightedJob().training, TrainedBy::kEspalier, metadata);
}

TEST(RecordedValuesTest, WeightsAreRefused) {
  graph::SourceGraph source = SmallLibrary();
  const auto check = [&](std::vector<float> strength) {
    source.edges[1].columns["strength"] = Tensor::FromVector(std::move(strength));
    GraphMetadata metadata = *CollectMetadata(source, WeightedJob().training.graph);
    RecordValues(source, {.threads = 2}, &metadata);
    return CheckRecorded(metadata);
  };
  EXPECT_EQ(check({0, 0.5F, 1}), Status());
  const Status negative = check({1, -2.5F, 1});
  EXPECT_EQ(negative.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(negative.message(),
            "spec.training.sampling.weight: row 1 of column 'strength' of edge type 'paper:cites:paper' is -2.5: "
            "expected a finite weight, 0 or larger");
  EXPECT_THAT(check({1, std::numeric_limits<float>::infinity(), 1}).message(), HasSubstr("is infinity: expected"));
  EXPECT_THAT(check({0, 0, 0}).message(),
              StartsWith("spec.training.sampling.weight: all weights in column 'strength' are 0"));
}

TEST(RecordedValuesTest, RefusesMissingValuesInComputations) {
  GraphMetadata metadata = *CollectMetadata(SmallLibrary(), WeightedJob().training.graph);
  metadata.node_columns[1].at("topic").lacks_values = true;
  EXPECT_EQ(CheckRecorded(metadata), Status()) << "labels may";
  metadata.edge_columns[1].at("strength").lacks_values = true;
  EXPECT_THAT(CheckRecorded(metadata).message(),
              StartsWith("spec.training.sampling.weight: column 'strength' of edge type 'paper:cites:paper' lacks "
                         "values: some are NaN; only label"));
  metadata.node_columns[1].at("feat").lacks_values = true;
  EXPECT_THAT(CheckRecorded(metadata).message(),
              StartsWith("spec.training.inputs[0].features[0]: column 'feat' of node type 'paper' lacks values"));
  EXPECT_EQ(CheckRecordedValues(WeightedJob().training, TrainedBy::kProgram, metadata), Status());
}

TEST(RecordedValuesTest, EachKindOfTaskHasItsRulesForLabels) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto expect = [](const graph::SourceGraph& source, const Settings& settings, const std::string& words) {
    const job::ParsedJob job = LibraryJob(settings);
    GraphMetadata metadata = *CollectMetadata(source, job.training.graph);
    RecordValues(source, {.labels = {.labels = {"topic"}}, .threads = 2}, &metadata);
    const Status checked = CheckRecordedValues(job.training, TrainedBy::kEspalier, metadata);
    EXPECT_EQ(checked.ok(), words.empty()) << checked.ToString();
    EXPECT_THAT(checked.message(), HasSubstr(words));
  };
  const Settings classes, flags = {{"training.task.multiLabel", "true"}, {"training.evaluation.metric", "MicroF1"}},
                          numbers = {{"training.task.type", "NodeRegression"}};
  graph::SourceGraph source = SmallLibrary();
  const auto set_labels = [&](auto labels) {
    source.nodes[1].columns["topic"] = Tensor::FromVector(std::move(labels));
  };
  expect(source, classes, "");
  set_labels(std::vector<float>{0, 1.5F, 7});
  expect(source, classes, "row 1 of column 'topic' of node type 'paper' is 1.5: expected a class");
  expect(source, flags, "row 1 of column 'topic' of node type 'paper' is 1.5: expected 0, 1");
  expect(source, numbers, "");
  set_labels(std::vector<double>{0, 1, 1e300});
  expect(source, numbers, "row 2 of column 'topic' of node type 'paper' is 1e+300: expected a finite 32-bit");
  set_labels(std::vector<float>{kNan, 1, 2});
  expect(source, classes, "all 1 are -1 or NaN, which means no label");
  expect(source, numbers, "all 1 are NaN, which means no label");
  set_labels(std::vector<int64_t>{-1, 1, 2});
  expect(source, classes, "no training node of split 'time' has a label in column 'topic'");
  expect(source, numbers, "");
  set_labels(std::vector<int64_t>{0, 1, 2});
  source.nodes[1].columns["feat"] = Tensor::FromVector(std::vector<double>{0, 0, 0, -1e300, 0, 0}, {3, 2});
  expect(source, classes, "row 1 of column 'feat' of node type 'paper', at index 1, is -1e+300: expected a number");
}

TEST(RecordedValuesTest, ChecksOnlyLabelsOfEdgesInSplit) {
  const job::ParsedJob job =
      LibraryJob({{"training.task", "{type: EdgeClassification, edgeType: cites, label: stars, split: sold}"}});
  graph::SourceGraph source = SmallLibrary();
  source.edges[1].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{0, -7, 1});
  graph::EdgeSplit& sold = source.edge_splits["sold"][1];
  sold.train = {.sources = {0}, .destinations = {1}, .edge_ids = {0}};
  sold.validation = {.sources = {1}, .destinations = {2}, .edge_ids = {1}};
  const auto check = [&] {
    GraphMetadata metadata = *CollectMetadata(source, job.training.graph);
    RecordValues(source, {.labels = {.labels = {"stars"}}, .threads = 2}, &metadata);
    return CheckRecordedValues(job.training, TrainedBy::kEspalier, metadata);
  };
  EXPECT_THAT(check().message(), HasSubstr("row 1 of column 'stars' of edge type 'paper:cites:paper' is -7: expected"));
  sold.validation = {.sources = {2}, .destinations = {0}, .edge_ids = {2}};
  EXPECT_EQ(check(), Status()) << "of an edge in no part";
  source.edges[1].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{-1, 0, 0});
  EXPECT_THAT(check().message(), HasSubstr("no training edge of split 'sold' has a label"));
  sold.train = {.sources = {0}, .destinations = {1}};
  EXPECT_THAT(check().message(), HasSubstr("no training edge of split 'sold' has a label")) << "named by its ends";
}

}  // namespace
}  // namespace espalier::partitioner
