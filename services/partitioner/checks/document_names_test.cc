// Tests of FindUnknownNames and CheckDocument with headers of a small library.
#include "services/partitioner/checks/document_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/partitioner/testing/library_job.h"

namespace espalier::partitioner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Returns a graph in which authors write papers (edges have "year" and a split "sold") and papers cite papers. Papers
// have "feat", "topic" and a split "time"; authors have "age".
graph::SourceGraph Library() {
  graph::SourceGraph graph;
  graph.schema =
      *graph::GraphSchema::Make({"author", "paper"}, {{"author", "writes", "paper"}, {"paper", "cites", "paper"}});
  graph.nodes.resize(2);
  graph.nodes[0].count = graph.nodes[1].count = 3;
  graph.nodes[0].columns["age"] = Tensor::Zeros(DType::kI64, {0});
  graph.nodes[1].columns["feat"] = Tensor::Zeros(DType::kF32, {0, 4});
  graph.nodes[1].columns["topic"] = Tensor::Zeros(DType::kI64, {0});
  graph.edges.resize(2);
  graph.edges[0].columns["year"] = Tensor::Zeros(DType::kI64, {0});
  graph.splits["time"][1] = {.train = {0}, .validation = {1}, .test = {2}};
  graph.edge_splits["sold"][0].train = {.sources = {0}, .destinations = {0}};
  return graph;
}

// Returns "path: message" of each name that does not exist.
std::vector<std::string> Unknown(const Settings& settings, TrainedBy trained_by = TrainedBy::kEspalier) {
  const job::DistTraining training = LibraryJob(settings).training;
  const Result<GraphMetadata> metadata = CollectMetadata(Library(), training.graph);
  ESPALIER_CHECK(metadata.ok()) << metadata.status().ToString();
  std::vector<std::string> texts;
  for (const FieldError& unknown : FindUnknownNames(training, trained_by, *metadata)) {
    texts.push_back(unknown.path + ": " + unknown.message);
  }
  return texts;
}

TEST(DocumentNamesTest, AcceptsNamesOfGraph) {
  EXPECT_THAT(Unknown({}), IsEmpty());
  EXPECT_THAT(Unknown({{"training.inputs[0].features", "[feat, original_id]"},
                       {"graph.timeColumn", "year"},
                       {"training.sampling.weight", "year"}}),
              IsEmpty());
  // The source column that sampling.method Labor adds is made when the graph is cut.
  EXPECT_THAT(Unknown({{"training.sampling.method", "Labor"}}), IsEmpty());
  EXPECT_THAT(Unknown({{"graph.partitions.sourceColumns", "[feat]"}, {"training.sampling.weight", "source.feat"}}),
              IsEmpty());
}

TEST(DocumentNamesTest, NamesUnknownAndAvailableColumnsAndSplits) {
  EXPECT_THAT(
      Unknown({{"training.task.label", "topci"}, {"training.task.split", "random"}}),
      ElementsAre("spec.training.task.label: node type 'paper' has no column 'topci' (did you mean 'topic'?); it "
                  "has: feat, topic",
                  "spec.training.task.split: node type 'paper' has no split 'random'; it has: time"));
  EXPECT_THAT(Unknown({{"training.inputs[0].features", "[feat, size]"}}),
              ElementsAre("spec.training.inputs[0].features[1]: node type 'paper' has no column 'size'; it has: feat, "
                          "topic"));
  EXPECT_THAT(
      Unknown({{"training.sampling.weight", "yeer"}}),
      ElementsAre("spec.training.sampling.weight: no edge type has a column 'yeer' (did you mean 'year'?); there "
                  "are: year"));
  EXPECT_THAT(
      Unknown({{"graph.partitions.sourceColumns", "[mask]"}}),
      ElementsAre("spec.graph.partitions.sourceColumns[0]: no node type has a column 'mask'; there are: age, feat, "
                  "topic"));
}

TEST(DocumentNamesTest, ATypeWithoutNodesNeedsNoFeatures) {
  const job::ParsedJob job =
      LibraryJob({{"training.inputs", "[{nodeType: paper, features: [feat]}, {nodeType: author, features: [size]}]"}});
  graph::SourceGraph graph = Library();
  EXPECT_THAT(CheckDocument(job, TrainedBy::kEspalier, *CollectMetadata(graph, job.training.graph)).message(),
              HasSubstr("spec.training.inputs[1].features[0]: node type 'author' has no column 'size'"));
  graph.nodes[0].count = 0;
  EXPECT_EQ(CheckDocument(job, TrainedBy::kEspalier, *CollectMetadata(graph, job.training.graph)), Status());
  graph.nodes[0].columns["size"] = Tensor::Zeros(DType::kF32, {0, 0});  // as read from an empty text file
  EXPECT_EQ(CheckDocument(job, TrainedBy::kEspalier, *CollectMetadata(graph, job.training.graph)), Status());
}

TEST(DocumentNamesTest, ListsNoMoreThanFortyColumns) {
  graph::SourceGraph wide = Library();
  for (int i = 100; i < 200; ++i) wide.nodes[1].columns["column" + std::to_string(i)] = {};
  const job::ParsedJob job = LibraryJob({{"training.task.label", "stars"}});
  EXPECT_THAT(CheckDocument(job, TrainedBy::kEspalier, *CollectMetadata(wide, job.training.graph)).message(),
              AllOf(HasSubstr("it has: column100, column101, "), EndsWith("column139, ... and 62 more")));
}

TEST(DocumentNamesTest, RefusesCopyOfSourceColumnAsTimeColumn) {
  const Settings copied = {{"graph.partitions.sourceColumns", "[age]"}, {"graph.timeColumn", "source.age"}};
  EXPECT_THAT(Unknown(copied),
              ElementsAre("spec.graph.timeColumn: no edge type has a column 'source.age'; there are: year"));
}

TEST(DocumentNamesTest, NamesUnknownOrMissingTypes) {
  EXPECT_THAT(Unknown({{"training.task.nodeType", "papers"}}),
              ElementsAre("spec.training.task.nodeType: there is no node type 'papers'; there are: author, paper"));
  EXPECT_THAT(Unknown({{"training.task.nodeType", ""}}),
              ElementsAre("spec.training.task.nodeType: expected a node type, because the graph has 2: author, paper"));
  EXPECT_THAT(
      Unknown({{"training.sampling.layers[0].edgeTypes", "[{type: cites, fanout: 2}, {type: reads, fanout: 2}]"}}),
      ElementsAre(AllOf(StartsWith("spec.training.sampling.layers[0].edgeTypes[1].type: there is no edge type "
                                   "'reads'; there are: author:writes:paper, "),
                        HasSubstr("paper:cites:paper"))));
}

TEST(DocumentNamesTest, AddedReverseRelationsHaveColumnsAndSplitsOfForwardRelations) {
  const Settings links = {{"training.task", "{type: LinkPrediction, split: sold, edgeTypes: [writes, rev_writes]}"},
                          {"training.evaluation.metric", "MRR"}};
  EXPECT_THAT(Unknown(With(links, {{"graph.preprocess.addReverseEdges", "true"}})), IsEmpty());
  EXPECT_THAT(Unknown(links), ElementsAre(HasSubstr("spec.training.task.edgeTypes[1]: there is no edge type "
                                                    "'rev_writes'")));
  EXPECT_THAT(Unknown(With(links, {{"training.task.edgeTypes", "[cites]"}})),
              ElementsAre("spec.training.task.split: edge type 'paper:cites:paper' has no split 'sold'; it has: none"));
}

TEST(DocumentNamesTest, LabelsOfEdgesAreColumnsOfTheirType) {
  const Settings edges = {{"training.task", "{type: EdgeRegression, split: sold, edgeType: writes, label: year}"},
                          {"training.evaluation.metric", "MeanSquaredError"}};
  EXPECT_THAT(Unknown(edges), IsEmpty());
  EXPECT_THAT(Unknown(With(edges, {{"training.task.label", "stars"}})),
              ElementsAre("spec.training.task.label: edge type 'author:writes:paper' has no column 'stars'; it has: "
                          "year"));
  EXPECT_THAT(Unknown(With(edges, {{"training.task.edgeType", ""}})),
              ElementsAre("spec.training.task.edgeType: expected an edge type, because the graph has 2: "
                          "author:writes:paper, paper:cites:paper"));
}

TEST(DocumentNamesTest, RefusesEdgeTypesOfTaskThatDoNotFitEachOther) {
  const Settings twice = {
      {"training.task", "{type: LinkPrediction, split: sold, edgeTypes: [writes, 'author:writes:paper']}"},
      {"training.evaluation.metric", "MRR"}};
  EXPECT_THAT(Unknown(twice),
              ElementsAre("spec.training.task.edgeTypes: edge type 'author:writes:paper' is named twice"));

  const Settings links = {
      {"training.task", "{type: LinkPrediction, split: sold, edgeType: writes, reverseEdgeType: cites}"},
      {"training.evaluation.metric", "MRR"}};
  const std::string leads_elsewhere =
      "spec.training.task: the reverse edge type does not reverse the node types of 'author:writes:paper'";
  EXPECT_THAT(Unknown(links), ElementsAre(leads_elsewhere));
  EXPECT_THAT(
      Unknown(With(links, {{"graph.preprocess.addReverseEdges", "true"}})),
      ElementsAre(StartsWith(
          "spec.training.task.reverseEdgeType: spec.graph.preprocess.addReverseEdges adds another reverse edge type")));

  const Settings edges = {{"training.task",
                           "{type: EdgeRegression, split: sold, edgeType: writes, label: year, exclude: ReverseEdges, "
                           "reverseEdgeType: cites}"},
                          {"training.evaluation.metric", "MeanSquaredError"}};
  EXPECT_THAT(Unknown(edges), ElementsAre(leads_elsewhere));
}

TEST(DocumentNamesTest, InferenceNeedsNeitherLabelNorSplit) {
  const Settings wrong = {{"training.task.label", "none"}, {"training.task.split", "none"}};
  EXPECT_THAT(Unknown(With(wrong, {{"training.epochs", "0"}, {"training.model.uri", "/srv/best.safetensors"}})),
              IsEmpty());
}

TEST(DocumentNamesTest, ProgramsMayUsePartsOfTraining) {
  const Settings wrong = {{"training.task.label", "none"}, {"training.task.nodeType", "none"}};
  EXPECT_THAT(Unknown(wrong, TrainedBy::kProgram), IsEmpty());
  EXPECT_THAT(Unknown(With(wrong, {{"trainers.program.command", "[train]"}})), IsEmpty());
  // Espalier cuts the graph in any case, so its fields are checked.
  EXPECT_THAT(Unknown({{"graph.timeColumn", "when"}}, TrainedBy::kProgram),
              ElementsAre("spec.graph.timeColumn: no edge type has a column 'when'; there are: year"));
}

TEST(DocumentNamesTest, ReportsPositionOfEachName) {
  const job::ParsedJob job = LibraryJob({{"training.task.split", "random"}, {"training.inputs[0].features", "[size]"}});
  const GraphMetadata metadata = *CollectMetadata(Library(), job.training.graph);
  const Status wrong = CheckDocument(job, TrainedBy::kEspalier, metadata);
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(wrong.message(), AllOf(StartsWith("--set training.task.split: spec.training.task.split: node type"),
                                     HasSubstr("\n--set training.inputs[0].features: spec.training.inputs[0]."
                                               "features[0]: node type")));
  EXPECT_TRUE(CheckDocument(LibraryJob({}), TrainedBy::kEspalier, metadata).ok());

  graph::SourceGraph other = Library();
  other.nodes[1].columns.erase("topic");
  EXPECT_THAT(
      CheckDocument(LibraryJob({}), TrainedBy::kEspalier, *CollectMetadata(other, job.training.graph)).message(),
      StartsWith("job.yaml:7:62: spec.training.task.label: node type 'paper' has no column 'topic'"));
}

}  // namespace
}  // namespace espalier::partitioner
