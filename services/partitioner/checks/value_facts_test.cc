// Tests of RecordValues through the errors of CheckRecordedValues.
#include "services/partitioner/checks/value_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "services/partitioner/checks/document_fit.h"
#include "services/partitioner/checks/recorded_values.h"
#include "services/partitioner/testing/library_job.h"

namespace espalier::partitioner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Returns six papers that cite each other in a ring. Nodes 0, 1 and 2 are training nodes, 3 and 4 are validation nodes,
// 5 is in no part.
graph::SourceGraph Ring() {
  graph::SourceGraph graph;
  graph.schema = *graph::GraphSchema::Make({"paper"}, {{"paper", "cites", "paper"}});
  graph.nodes.resize(1);
  graph.nodes[0].count = 6;
  graph.nodes[0].columns["feat"] = Tensor::Zeros(DType::kF32, {6, 4});
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<int64_t>{0, 1, -1, 1, 2, -70});
  graph.nodes[0].columns["since"] = Tensor::FromVector(std::vector<uint64_t>{1, 2, 3, 4, 5, 6});
  graph.edges.resize(1);
  graph.edges[0].sources = Tensor::FromVector(std::vector<uint32_t>{0, 1, 2, 3, 4, 5});
  graph.edges[0].destinations = Tensor::FromVector(std::vector<uint32_t>{1, 2, 3, 4, 5, 0});
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 1, 0.5F, 3, 1, 1});
  graph.edges[0].columns["year"] = Tensor::FromVector(std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  graph.edges[0].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{4, 0, 1, 2, -3, 1});
  graph.splits["time"][0] = {.train = {0, 1, 2}, .validation = {3, 4}, .test = {}};
  graph::EdgeSplit& sold = graph.edge_splits["sold"][0];
  sold.train = {.sources = {1, 2}, .destinations = {2, 3}, .edge_ids = {1, 2}};
  sold.validation = {.sources = {3}, .destinations = {4}, .edge_ids = {3}};
  return graph;
}

Status Check(const graph::SourceGraph& source, const Settings& settings = {},
             TrainedBy trained_by = TrainedBy::kEspalier) {
  const job::ParsedJob job = LibraryJob(settings);
  GraphMetadata metadata = *CollectMetadata(source, job.training.graph);
  EXPECT_TRUE(CheckDocument(job, trained_by, metadata).ok()) << CheckDocument(job, trained_by, metadata).ToString();
  RecordValues(source,
               {.labels = {.labels = {job.training.training.task.label}},
                .preprocess = job.training.graph.preprocess,
                .threads = 2},
               &metadata);
  return CheckRecordedValues(job.training, trained_by, metadata);
}

const Settings kWeighted = {{"training.sampling.weight", "strength"}};

TEST(ValueFactsTest, GoodValuesAreAccepted) {
  EXPECT_EQ(Check(Ring()), Status());
  EXPECT_EQ(Check(Ring(), kWeighted), Status());
  EXPECT_EQ(Check(Ring(), {{"training.sampling.weight", "year"}}), Status());
}

TEST(ValueFactsTest, NamesTheFirstWeightThatIsNegativeOrNotFinite) {
  graph::SourceGraph graph = Ring();
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 1, -2.5F, 3, -1, 1});
  const Status wrong = Check(graph, kWeighted);
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(wrong.message(),
            "spec.training.sampling.weight: row 2 of column 'strength' of edge type 'paper:cites:paper' is -2.5: "
            "expected a finite weight, 0 or larger");
  EXPECT_EQ(Check(graph), Status()) << "no layer draws by it";
  EXPECT_EQ(Check(graph, kWeighted, TrainedBy::kProgram), Status());
  for (const float value : {kNan, std::numeric_limits<float>::infinity()}) {
    graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 1, 1, 3, 1, value});
    EXPECT_THAT(Check(graph, kWeighted).message(), HasSubstr("row 5 of column 'strength'"));
  }
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<int64_t>{0, -1, 1, 3, 1, 1});
  EXPECT_THAT(Check(graph, kWeighted).message(), HasSubstr("row 1 of column 'strength'"));
}

TEST(ValueFactsTest, ReportsRangeOfValues) {
  graph::SourceGraph graph = Ring();
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 1, -1e-9F, 3, 1, 1});
  EXPECT_THAT(Check(graph, kWeighted).message(), HasSubstr("row 2 of column 'strength' of edge type "
                                                           "'paper:cites:paper' is -1e-09: expected"));
  graph.nodes[0].columns["feat"] = Tensor::FromVector(std::vector<double>{0, 1, 2, 3, 4, -1e300});
  EXPECT_EQ(Check(graph).message(),
            "spec.training.inputs[0].features[0]: row 5 of column 'feat' of node type 'paper' is -1e+300: expected a "
            "number in the range of 32-bit floats");
  EXPECT_EQ(Check(graph, {{"graph.preprocess.normalizeFeatures", "Row"}}), Status());
}

TEST(ValueFactsTest, RefusesWeightsThatAreAllZero) {
  graph::SourceGraph graph = Ring();
  graph.edges[0].columns["strength"] = Tensor::Zeros(DType::kF32, {6});
  EXPECT_THAT(Check(graph, kWeighted).message(), HasSubstr("spec.training.sampling.weight: all weights in column "
                                                           "'strength' are 0"));
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 0, 0, 0, 0, 0.5F});
  EXPECT_EQ(Check(graph, kWeighted), Status());
}

TEST(ValueFactsTest, ReverseRelationUsesWeightsOfForwardRelation) {
  graph::SourceGraph graph = Ring();
  graph.schema = *graph::GraphSchema::Make({"author", "paper"}, {{"paper", "by", "author"}});
  graph.nodes.insert(graph.nodes.begin(), graph::NodeSet{.count = 6, .columns = {}});
  graph.splits["time"] = {{1, {.train = {0, 1}, .validation = {}, .test = {}}}};
  graph.edge_splits.clear();
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 1, 1, 3, 1, -1});
  EXPECT_EQ(Check(graph, kWeighted), Status()) << "no layer reaches an author";
  EXPECT_THAT(Check(graph, With(kWeighted, {{"graph.preprocess.addReverseEdges", "true"}})).message(),
              HasSubstr("row 5 of column 'strength' of edge type 'paper:by:author' is -1"));
  graph.edges[0].columns["strength"] = Tensor::Zeros(DType::kF32, {6});
  EXPECT_THAT(Check(graph, With(kWeighted, {{"graph.preprocess.addReverseEdges", "true"}})).message(),
              HasSubstr("all weights in column 'strength' are 0"));
}

// A source may already have a relation with the name of a reverse relation. It then has its own columns.
TEST(ValueFactsTest, RelationNamedLikeReverseHasItsOwnWeights) {
  graph::SourceGraph graph = Ring();
  graph.schema =
      *graph::GraphSchema::Make({"author", "paper"}, {{"author", "rev_by", "paper"}, {"paper", "by", "author"}});
  graph.nodes.insert(graph.nodes.begin(), graph::NodeSet{.count = 6, .columns = {}});
  graph.splits["time"] = {{1, {.train = {0, 1}, .validation = {}, .test = {}}}};
  graph.edge_splits.clear();
  graph.edges.push_back(graph.edges[0]);
  graph.edges[1].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 1, 1, 3, 1, -1});
  EXPECT_EQ(Check(graph, kWeighted), Status()) << "no layer reaches an author";
  std::swap(graph.edges[0], graph.edges[1]);
  EXPECT_THAT(Check(graph, kWeighted).message(), HasSubstr("row 5 of column 'strength' of edge type "
                                                           "'author:rev_by:paper' is -1"));
}

TEST(ValueFactsTest, NamesRowOfLabelThatIsNotAClass) {
  graph::SourceGraph graph = Ring();
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<int64_t>{0, 1, -1, -7, 2, -70});
  EXPECT_EQ(Check(graph).message(),
            "spec.training.task.label: row 3 of column 'topic' of node type 'paper' is -7: expected a class from 0 to "
            "999999, or -1 or NaN (no label)");
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<int64_t>{0, 1, 1'000'000, 1, 2, 0});
  EXPECT_THAT(Check(graph).message(), HasSubstr("row 2 of column 'topic' of node type 'paper' is 1000000: "));
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<double>{0, 1.5, kNan, 1, 2, 0});
  EXPECT_THAT(Check(graph).message(), HasSubstr("row 1 of column 'topic' of node type 'paper' is 1.5: "));
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<uint64_t>{0, 1, 2, 3, ~uint64_t{0}, 0});
  EXPECT_THAT(Check(graph).message(),
              HasSubstr("row 4 of column 'topic' of node type 'paper' is 18446744073709551615"));
}

TEST(ValueFactsTest, LabelsOfOtherTasksHaveTheirOwnRules) {
  graph::SourceGraph graph = Ring();
  graph.nodes[0].columns["topic"] =
      Tensor::FromVector(std::vector<float>{0, 1, 1, kNan, 2, 1, 1, 1, 0, 0, 0, 0}, {6, 2});
  EXPECT_EQ(
      Check(graph, {{"training.task.multiLabel", "true"}}).message(),
      "spec.training.task.label: row 2 of column 'topic' of node type 'paper', at index 0, is 2: expected 0, 1, or "
      "-1 or NaN (no label), because spec.training.task.multiLabel is true");
  const Settings regression = {{"training.task.type", "NodeRegression"},
                               {"training.evaluation.metric", "MeanSquaredError"}};
  EXPECT_EQ(Check(graph, regression), Status());
  graph.nodes[0].columns["topic"] =
      Tensor::FromVector(std::vector<int8_t>{0, -1, 1, -1, -1, -1, 1, 1, 0, 0, 0, 0}, {6, 2});
  EXPECT_EQ(Check(graph, {{"training.task.multiLabel", "true"}}), Status());
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<double>{0, 1e300, 1, 1, 1, 1});
  EXPECT_THAT(Check(graph, regression).message(), HasSubstr("row 1 of column 'topic'"));
}

TEST(ValueFactsTest, RefusesTrainingPartWithoutLabel) {
  graph::SourceGraph graph = Ring();
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<int64_t>{-1, -1, -1, 1, 2, 0});
  EXPECT_EQ(Check(graph).message(),
            "spec.training.task.label: no training node of split 'time' has a label in column 'topic' of node type "
            "'paper': all 3 are -1 or NaN, which means no label");
  EXPECT_EQ(Check(graph, {{"training.epochs", "0"}, {"training.model.uri", "/srv/best.safetensors"}}), Status());
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<float>{kNan, kNan, kNan, 1, 2, 0});
  EXPECT_THAT(
      Check(graph, {{"training.task.type", "NodeRegression"}, {"training.evaluation.metric", "MeanAbsoluteError"}})
          .message(),
      HasSubstr("no training node of split 'time' has a label"));
}

TEST(ValueFactsTest, ChecksOnlyLabelsOfEdgesInSplit) {
  const Settings task = {{"training.task", "{type: EdgeClassification, split: sold, edgeType: cites, label: stars}"}};
  graph::SourceGraph graph = Ring();
  EXPECT_EQ(Check(graph, task), Status()) << "edge 4 is in no part";
  graph.edges[0].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{4, 0, 1, -3, 0, 1});
  EXPECT_THAT(
      Check(graph, task).message(),
      AllOf(HasSubstr("spec.training.task.label: row 3 of column 'stars' of edge type 'paper:cites:paper' is -3")));
  graph.edges[0].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{4, -1, -1, 3, 0, 1});
  EXPECT_THAT(Check(graph, task).message(), HasSubstr("no training edge of split 'sold' has a label"));
}

TEST(ValueFactsTest, ChecksLabelsOfEdgesNamedByEndpoints) {
  const Settings task = {{"training.task", "{type: EdgeClassification, split: sold, edgeType: cites, label: stars}"}};
  graph::SourceGraph graph = Ring();
  graph.edge_splits["sold"][0].train.edge_ids = {};
  EXPECT_EQ(Check(graph, task), Status()) << "edge 4, whose label is wrong, is in no part";
  graph.edges[0].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{4, 0, 1, -3, -3, 1});
  EXPECT_THAT(
      Check(graph, task).message(),
      HasSubstr("spec.training.task.label: row 3 of column 'stars' of edge type 'paper:cites:paper' is -3: expected"));
  graph.edge_splits["sold"][0].validation.edge_ids = {};
  EXPECT_THAT(Check(graph, task).message(), HasSubstr("row 3 of column 'stars'"));
  const Settings kept_once = {task.front(), {"graph.preprocess.dropDuplicateEdges", "true"}};
  EXPECT_EQ(Check(graph, kept_once), Status()) << "only the edge that is kept has the label";
  graph.edges[0].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{4, 0, -7, -3, -3, 1});
  EXPECT_THAT(Check(graph, task).message(), HasSubstr("row 2 of column 'stars'"));
  graph.edges[0].columns["stars"] = Tensor::FromVector(std::vector<int8_t>{4, -1, -1, 3, 0, 1});
  EXPECT_THAT(Check(graph, task).message(), HasSubstr("no training edge of split 'sold' has a label"));
  EXPECT_EQ(Check(graph, kept_once), Status());
  // Edge 5, from 5 to 0, has a reverse edge with its label.
  graph.edge_splits["sold"][0].train.sources = {1, 0};
  graph.edge_splits["sold"][0].train.destinations = {2, 5};
  EXPECT_THAT(Check(graph, task).message(), HasSubstr("no training edge of split 'sold' has a label"));
  EXPECT_EQ(Check(graph, {task.front(), {"graph.preprocess.addReverseEdges", "true"}}), Status());
  graph.edges[0].destinations = Tensor::FromVector(std::vector<uint32_t>{1, 2});
  EXPECT_EQ(Check(graph, task), Status()) << "ValidateSourceGraph refuses it";
}

TEST(ValueFactsTest, NamesATimeThatIsTooLate) {
  const Settings temporal = {{"graph.timeColumn", "year"},
                             {"training.evaluation.neighborhood", "Sampled"},
                             {"output.save", "[Model]"},
                             {"training.sampling.seedTime", "since"}};
  graph::SourceGraph graph = Ring();
  EXPECT_EQ(Check(graph, temporal), Status());
  graph.nodes[0].columns["since"] = Tensor::FromVector(std::vector<uint64_t>{1, 2, uint64_t{1} << 63, 4, 5, 6});
  EXPECT_THAT(Check(graph, temporal).message(),
              HasSubstr("row 2 of column 'since' of node type 'paper' is 9223372036854775808: expected a time"));
}

// Wrong lengths of columns and wrong IDs in splits are skipped here; the validation of the whole graph reports them.
TEST(ValueFactsTest, SkipsColumnsOfWrongLengthAndIdsOutOfRange) {
  graph::SourceGraph graph = Ring();
  graph.nodes[0].columns["topic"] = Tensor::FromVector(std::vector<int64_t>{5});
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{-1});
  EXPECT_EQ(Check(graph, kWeighted), Status());
  graph = Ring();
  graph.splits["time"][0].train = {0, 1, 700};
  EXPECT_EQ(Check(graph), Status());
}

}  // namespace
}  // namespace espalier::partitioner
