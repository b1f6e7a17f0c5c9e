// Tests of FindMisfits with headers of a small library.
#include "services/partitioner/checks/document_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/partitioner/testing/library_job.h"

namespace espalier::partitioner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Tensor Column(DType dtype, std::vector<int64_t> shape = {0}) { return Tensor::Zeros(dtype, std::move(shape)); }

graph::EdgeSet OneEdge() {
  graph::EdgeSet edges;
  edges.sources = edges.destinations = Tensor::FromVector(std::vector<uint32_t>{0});
  return edges;
}

// Returns a graph in which authors write papers and papers cite papers. Every edge has a "strength"; edges from authors
// also have a "year".
graph::SourceGraph LibraryWithWeights() {
  graph::SourceGraph graph;
  graph.schema =
      *graph::GraphSchema::Make({"author", "paper"}, {{"author", "writes", "paper"}, {"paper", "cites", "paper"}});
  graph.nodes.resize(2);
  graph.nodes[0].count = graph.nodes[1].count = 3;
  graph.nodes[1].columns["feat"] = Column(DType::kF32, {0, 4});
  graph.nodes[1].columns["topic"] = Column(DType::kI64, {0, 1});
  graph.nodes[1].columns["since"] = Column(DType::kI32);
  graph.edges.resize(2, OneEdge());
  for (graph::EdgeSet& edges : graph.edges) edges.columns["strength"] = Column(DType::kF32);
  graph.edges[0].columns["year"] = Column(DType::kI64);
  graph.splits["time"][1] = {.train = {0}, .validation = {1}, .test = {2}};
  graph.edge_splits["sold"][0].train = {.sources = {0}, .destinations = {0}};
  return graph;
}

// Returns "path: message" of each misfit.
std::vector<std::string> Misfits(const graph::SourceGraph& source, const Settings& settings,
                                 TrainedBy trained_by = TrainedBy::kEspalier) {
  const job::ParsedJob job = LibraryJob(settings);
  const GraphMetadata metadata = *CollectMetadata(source, job.training.graph);
  EXPECT_THAT(FindUnknownNames(job.training, trained_by, metadata), IsEmpty());
  std::vector<std::string> texts;
  for (const FieldError& error : FindMisfits(job.training, trained_by, metadata)) {
    texts.push_back(error.path + ": " + error.message);
  }
  return texts;
}

TEST(DocumentFitTest, FindsNothingInAGraphThatFits) {
  EXPECT_THAT(Misfits(LibraryWithWeights(), {{"training.sampling.weight", "strength"},
                                             {"training.evaluation.earlyStopping.patience", "2"},
                                             {"training.evaluation.neighborhood", "Sampled"},
                                             {"output.save", "[Model]"},
                                             {"graph.timeColumn", "year"},
                                             {"training.sampling.seedTime", "since"}}),
              IsEmpty());
}

TEST(DocumentFitTest, ClassesAreOneValuePerRowAndOtherLabelsAtLeastOne) {
  graph::SourceGraph wide = LibraryWithWeights();
  wide.nodes[1].columns["topic"] = Column(DType::kF32, {0, 3});
  EXPECT_THAT(Misfits(wide, {}),
              ElementsAre("spec.training.task.label: column 'topic' of node type 'paper' is F32 [3]: "
                          "expected one class for each node, or spec.training.task.multiLabel: true"));
  EXPECT_THAT(Misfits(wide, {{"training.task.multiLabel", "true"}}), IsEmpty());
  const Settings regression = {{"training.task.type", "NodeRegression"},
                               {"training.evaluation.metric", "MeanSquaredError"}};
  EXPECT_THAT(Misfits(wide, regression), IsEmpty());
  wide.nodes[1].columns["topic"] = Column(DType::kF32, {0, 0});
  EXPECT_THAT(Misfits(wide, regression), ElementsAre(HasSubstr("expected at least one value for each node")));

  graph::SourceGraph edges = LibraryWithWeights();
  edges.edges[0].columns["stars"] = Column(DType::kU8, {0, 2});
  const Settings task = {{"training.task", "{type: EdgeClassification, split: sold, edgeType: writes, label: stars}"}};
  EXPECT_THAT(Misfits(edges, task),
              ElementsAre(AllOf(StartsWith("spec.training.task.label: column 'stars' of edge type "
                                           "'author:writes:paper' is U8 [2]"),
                                HasSubstr("one class for each edge"))));
}

TEST(DocumentFitTest, RefusesEmptyPartsOfSplitThatAreNeeded) {
  graph::SourceGraph train_only = LibraryWithWeights();
  train_only.splits["time"][1] = {.train = {0, 1, 2}, .validation = {}, .test = {}};
  EXPECT_THAT(Misfits(train_only, {}), IsEmpty());
  EXPECT_THAT(Misfits(train_only, {{"training.evaluation.earlyStopping.patience", "2"}}),
              ElementsAre("spec.training.evaluation.earlyStopping.patience: early stopping compares the validation "
                          "metric, and split 'time' has no validation nodes: add some, or omit earlyStopping"));
  train_only.splits["time"][1] = {.train = {}, .validation = {1}, .test = {2}};
  EXPECT_THAT(Misfits(train_only, {}), ElementsAre("spec.training.task.split: split 'time' has no training nodes"));
  EXPECT_THAT(Misfits(train_only, {{"training.epochs", "0"}, {"training.model.uri", "/srv/best.safetensors"}}),
              IsEmpty());

  const Settings links = {{"training.task", "{type: LinkPrediction, split: sold, edgeType: writes}"},
                          {"training.evaluation.metric", "MRR"},
                          {"training.evaluation.earlyStopping.patience", "1"}};
  EXPECT_THAT(Misfits(LibraryWithWeights(), links), ElementsAre(HasSubstr("split 'sold' has no validation edges")));
}

TEST(DocumentFitTest, FeaturesHaveValues) {
  graph::SourceGraph empty = LibraryWithWeights();
  empty.nodes[1].columns["feat"] = Column(DType::kF32, {0, 0});
  EXPECT_THAT(
      Misfits(empty, {}),
      ElementsAre("spec.training.inputs[0].features[0]: column 'feat' of node type 'paper' is F32 [0]: expected "
                  "at least one value for each node"));
}

TEST(DocumentFitTest, SampledEdgesNeedOneWeightEach) {
  const Settings weighted = {{"training.sampling.weight", "strength"}};
  graph::SourceGraph graph = LibraryWithWeights();
  graph.edges[1].columns["strength"] = Column(DType::kF16);
  EXPECT_THAT(Misfits(graph, weighted),
              ElementsAre("spec.training.sampling.weight: column 'strength' of edge type 'paper:cites:paper' is F16: "
                          "expected F32, F64, an integer type or BOOL"));
  graph.edges[1].columns["strength"] = Column(DType::kF32, {0, 2});
  EXPECT_THAT(Misfits(graph, weighted), ElementsAre(HasSubstr("is F32 [2]: expected one number for each edge")));
  graph.edges[1].columns.erase("strength");
  EXPECT_THAT(Misfits(graph, weighted),
              ElementsAre(HasSubstr("edge type 'paper:cites:paper' has no column 'strength', but "
                                    "spec.training.sampling.layers samples its edges")));
  // Relations without edges and edges that no layer samples need no weight.
  graph::SourceGraph empty = graph;
  empty.edges[1].sources = empty.edges[1].destinations = Column(DType::kU32);
  EXPECT_THAT(Misfits(empty, weighted), IsEmpty());
  EXPECT_THAT(
      Misfits(graph,
              With(weighted, {{"training.sampling.layers", "[{fanout: 5, edgeTypes: [{type: cites, fanout: 0}]}]"}})),
      IsEmpty());
  // Edges into nodes that no layer reaches need no weight: with one layer, in-edges of authors are not sampled.
  graph::SourceGraph reversed = LibraryWithWeights();
  EXPECT_THAT(Misfits(reversed, With(weighted, {{"graph.preprocess.addReverseEdges", "true"}})), IsEmpty());
}

TEST(DocumentFitTest, EdgesAreSampledOnlyByLayersThatReachTheirDestination) {
  const graph::GraphSchema schema =
      *graph::GraphSchema::Make({"a", "b"}, {{"a", "to", "a"}, {"a", "to", "b"}, {"b", "to", "a"}});
  const auto drawn = [&](size_t layers, NodeTypeId seeds) {
    job::Sampling sampling;
    sampling.layers.resize(layers, {.fanout = 2, .edge_types = {}});
    return FindSampledEdgeTypes(sampling, schema, {seeds});
  };
  EXPECT_THAT(drawn(1, NodeTypeId(0)), ElementsAre(true, false, true));
  EXPECT_THAT(drawn(1, NodeTypeId(1)), ElementsAre(false, true, false));
  EXPECT_THAT(drawn(2, NodeTypeId(1)), ElementsAre(true, true, true));
}

TEST(DocumentFitTest, TimesAreNumbersAndIntegersWithSeedTimes) {
  const Settings timed = {{"graph.timeColumn", "year"}};
  const Settings temporal = With(timed, {{"training.evaluation.neighborhood", "Sampled"},
                                         {"output.save", "[Model]"},
                                         {"training.sampling.seedTime", "since"}});
  graph::SourceGraph graph = LibraryWithWeights();
  graph.edges[0].columns["year"] = Column(DType::kBool);
  EXPECT_THAT(Misfits(graph, timed), ElementsAre("spec.graph.timeColumn: column 'year' of edge type "
                                                 "'author:writes:paper' is BOOL: expected one number for each edge"));
  EXPECT_THAT(Misfits(graph, timed, TrainedBy::kProgram), ElementsAre(StartsWith("spec.graph.timeColumn: ")));
  graph.edges[0].columns["year"] = Column(DType::kF64);
  EXPECT_THAT(Misfits(graph, timed), IsEmpty());
  EXPECT_THAT(Misfits(graph, temporal),
              ElementsAre(HasSubstr("is F64: spec.training.sampling.seedTime needs integers")));
  graph = LibraryWithWeights();
  graph.nodes[1].columns["since"] = Column(DType::kF32);
  EXPECT_THAT(
      Misfits(graph, temporal),
      ElementsAre("spec.training.sampling.seedTime: column 'since' of node type 'paper' is F32: expected times, "
                  "one integer for each node"));
}

TEST(DocumentFitTest, ProgramsMayUsePartsOfTraining) {
  graph::SourceGraph wide = LibraryWithWeights();
  wide.nodes[1].columns["topic"] = Column(DType::kF32, {0, 3});
  EXPECT_THAT(Misfits(wide, {}, TrainedBy::kProgram), IsEmpty());
}

TEST(DocumentFitTest, CheckDocumentReportsPositionOfField) {
  graph::SourceGraph wide = LibraryWithWeights();
  wide.nodes[1].columns["topic"] = Column(DType::kF32, {0, 3});
  const job::ParsedJob job = LibraryJob({});
  const Status wrong = CheckDocument(job, TrainedBy::kEspalier, *CollectMetadata(wide, job.training.graph));
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(wrong.message(), StartsWith("job.yaml:7:62: spec.training.task.label: column 'topic'"));
}

}  // namespace
}  // namespace espalier::partitioner
