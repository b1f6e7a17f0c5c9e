// Parsing of spec.training: inputs, models, sampling and tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/job/testing/parse_example.h"

namespace espalier::job {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ParseTrainingTest, ReadsTheFieldsOfAttention) {
  const auto parsed = ParseJob("job.yaml", kExampleJob,
                               {{"training.model",
                                 "{type: GATv2, hiddenSize: 64, heads: 8, outputHeads: 2, negativeSlope: 0.1, "
                                 "attentionDropout: 0.6}"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const Model& model = parsed->training.training.model;
  EXPECT_EQ(model.type, ModelType::kGatv2);
  EXPECT_EQ(model.heads, 8);
  EXPECT_EQ(model.output_heads, 2);
  EXPECT_DOUBLE_EQ(model.negative_slope, 0.1);
  EXPECT_DOUBLE_EQ(model.attention_dropout, 0.6);
}

TEST(ParseTrainingTest, ReadsLearnableRows) {
  const auto parsed = ParseJob(
      "job.yaml",
      ExampleWith(
          "features: [node-feat]",
          "{features: [x], embedding: {size: 8, dtype: BF16, initializer: {type: Normal, deviation: 0.1}, "
          "optimizer: {type: Adam, learningRate: 0.5, duplicates: Mean}, learningRateSchedule: {type: Cosine}}}"),
      {});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const Input& input = parsed->training.training.inputs.at(0);
  EXPECT_THAT(input.features, ElementsAre("x"));
  ASSERT_TRUE(input.embedding.has_value());
  EXPECT_EQ(input.embedding->size, 8);
  EXPECT_EQ(input.embedding->dtype, RowDType::kBf16);
  EXPECT_EQ(input.embedding->initializer.type, RowInitializerType::kNormal);
  EXPECT_DOUBLE_EQ(input.embedding->initializer.deviation, 0.1);
  EXPECT_EQ(input.embedding->optimizer.type, SparseOptimizerType::kAdam);
  EXPECT_DOUBLE_EQ(input.embedding->optimizer.learning_rate, 0.5);
  EXPECT_EQ(input.embedding->optimizer.duplicates, DuplicateGradients::kMean);
  EXPECT_EQ(input.embedding->schedule.type, ScheduleType::kCosine);
}

// Returns the error of the example with learnable rows with the given initializer, and with the server plugin "rows".
std::string ErrorOfInitializer(const std::string& initializer) {
  return ErrorOf(ExampleWith("features: [node-feat]", "embedding: {size: 8, initializer: " + initializer + "}"),
                 {{"servers.plugins", "[{name: rows, path: rows.so}]"}});
}

TEST(ParseTrainingTest, ReadsAnInitializerOfAPlugin) {
  const auto parsed = ParseJob(
      "job.yaml",
      ExampleWith("features: [node-feat]",
                  "embedding: {size: 8, initializer: {type: Plugin, plugin: rows/sinusoids, arguments: \"10000\"}}"),
      {{"servers.plugins", "[{name: other, path: a.so}, {name: rows, path: rows.so}]"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const RowInitializer& initializer = parsed->training.training.inputs.at(0).embedding->initializer;
  EXPECT_EQ(initializer.type, RowInitializerType::kPlugin);
  EXPECT_EQ(initializer.plugin, "rows/sinusoids");
  EXPECT_EQ(initializer.arguments, "10000");
  EXPECT_EQ(ErrorOfInitializer("{type: Plugin, plugin: rows/sinusoids}"), "") << "without arguments";
}

TEST(ParseTrainingTest, NamesErrorsOfPluginInitializers) {
  const std::string at = "spec.training.inputs[0].embedding.initializer";
  EXPECT_THAT(ErrorOfInitializer("{type: Plugin}"), HasSubstr(at + ".type: Plugin needs initializer.plugin"));
  EXPECT_THAT(ErrorOfInitializer("{plugin: rows/sinusoids}"), HasSubstr(at + ".plugin: only for the type Plugin"));
  EXPECT_THAT(ErrorOfInitializer("{arguments: \"1\"}"), HasSubstr(at + ".arguments: only for the type Plugin"));
  for (const char* other : {"none/sinusoids", "row/sinusoids", "rows2/sinusoids"}) {
    EXPECT_THAT(
        ErrorOfInitializer(std::string("{type: Plugin, plugin: ") + other + "}"),
        HasSubstr(at + ".plugin: expected an initializer of a plugin of spec.servers.plugins, found '" + other + "'"));
  }
  for (const char* no_entry : {"sinusoids", "rows/", "/sinusoids", "rows/a/b", "\"rows/a b\""}) {
    EXPECT_THAT(ErrorOfInitializer(std::string("{type: Plugin, plugin: ") + no_entry + "}"),
                HasSubstr(at + ".plugin: expected plugin/name, as in rows/sinusoids, found "));
  }
}

TEST(ParseTrainingTest, RefusesUnsupportedOptionsOfLearnableRows) {
  const std::string with_rows = ExampleWith("features: [node-feat]", "embedding: {size: 8}");
  EXPECT_EQ(ErrorOf(with_rows), "");
  EXPECT_THAT(ErrorOf(with_rows, {{"spec.training.model.uri", "/srv/model.safetensors"}}),
              HasSubstr("learnable rows are not part of model files"));
  EXPECT_THAT(ErrorOf(ExampleWith("features: [node-feat]", "{nodeType: node}")),
              HasSubstr("spec.training.inputs[0]: expected features, embedding or both"));
}

// Returns the error of the example with a TorchScript module and learnable rows.
std::string ErrorOfModuleWithRows(const Overrides& overrides) {
  std::string text = ExampleWith("features: [node-feat]", "embedding: {size: 8}");
  const std::string model =
      "model: {type: GraphSAGE, aggregator: Mean, hiddenSize: 64, dropout: 0.5, normalization: None}";
  text.replace(text.find(model), model.size(), "model: {type: TorchScript, uri: /srv/mine.pt}");
  return ErrorOf(text, overrides);
}

TEST(ParseTrainingTest, LearnableRowsOfAModuleAreTrainedWithIt) {
  EXPECT_EQ(ErrorOfModuleWithRows({}), "");
  EXPECT_EQ(ErrorOfModuleWithRows({{"spec.checkpoint.resumeFrom", "/srv/run/checkpoints"}}), "");
  EXPECT_THAT(ErrorOfModuleWithRows({{"spec.training.epochs", "0"}}),
              HasSubstr("spec.training.epochs: with 0 epochs, a module with learnable rows needs"));
}

TEST(ParseTrainingTest, RefusesOptionsOfOtherDistributions) {
  const std::string at = "spec.training.inputs[0].embedding.initializer";
  for (const char* type : {"Normal", "XavierUniform", "Zeros", "Plugin, plugin: rows/a"}) {
    const std::string begin = std::string("{type: ") + type;
    EXPECT_THAT(ErrorOfInitializer(begin + ", low: -0.5}"), HasSubstr(at + ".low: only for the type Uniform"));
    EXPECT_THAT(ErrorOfInitializer(begin + ", high: 0.5}"), HasSubstr(at + ".high: only for the type Uniform"));
  }
  for (const char* type : {"Uniform", "XavierUniform", "Zeros", "Plugin, plugin: rows/a"}) {
    const std::string begin = std::string("{type: ") + type;
    EXPECT_THAT(ErrorOfInitializer(begin + ", mean: 1}"), HasSubstr(at + ".mean: only for the type Normal"));
    EXPECT_THAT(ErrorOfInitializer(begin + ", deviation: 0.1}"), HasSubstr(at + ".deviation: only for the type"));
  }
  EXPECT_EQ(ErrorOfInitializer("{low: -0.5, high: 0.5}"), "");
  EXPECT_EQ(ErrorOfInitializer("{type: Normal, mean: 1, deviation: 0.1}"), "");
  // Defaults are accepted: every process parses the effective document, which contains all of them.
  EXPECT_EQ(ErrorOfInitializer("{type: Zeros, low: -1, high: 1, mean: 0, deviation: 1}"), "");
}

TEST(ParseTrainingTest, RefusesOptionsOfOtherSchedules) {
  const std::string job = "spec.training.learningRateSchedule";
  for (const char* type : {"Constant", "Linear", "Cosine"}) {
    EXPECT_THAT(ErrorOf(kExampleJob, {{job + ".type", type}, {job + ".stepEpochs", "5"}}),
                HasSubstr(job + ".stepEpochs: only for the type Step"));
    EXPECT_THAT(ErrorOf(kExampleJob, {{job + ".type", type}, {job + ".factor", "0.5"}}),
                HasSubstr(job + ".factor: only for the type Step"));
    EXPECT_EQ(ErrorOf(kExampleJob, {{job + ".type", type}, {job + ".warmupSteps", "5"}}), "");
  }
  EXPECT_EQ(ErrorOf(kExampleJob, {{job + ".type", "Step"}, {job + ".stepEpochs", "5"}, {job + ".factor", "0.5"}}), "");
  EXPECT_THAT(ErrorOf(ExampleWith("features: [node-feat]",
                                  "embedding: {size: 8, learningRateSchedule: {type: Cosine, factor: 0.5}}")),
              HasSubstr("spec.training.inputs[0].embedding.learningRateSchedule.factor: only for the type Step"));
}

TEST(ParseTrainingTest, ReadsHowNeighborsAreDrawn) {
  const Overrides timed = {{"graph.timeColumn", "when"},
                           {"training.sampling.method", "Last"},
                           {"training.sampling.seedTime", "joined"},
                           {"training.evaluation.neighborhood", "Sampled"},
                           {"output.save", "[Model]"}};
  const Result<ParsedJob> last = ParseJob("job.yaml", kExampleJob, timed);
  ASSERT_TRUE(last.ok()) << last.status().ToString();
  EXPECT_EQ(last->training.training.sampling.draw.method, sampler::DrawMethod::kLast);
  EXPECT_EQ(last->training.training.sampling.seed_time, "joined");
  EXPECT_EQ(last->training.training.sampling.draw.time_column, "when");
  EXPECT_EQ(last->training.training.sampling.draw.expand, sampler::Expand::kAlways);
  EXPECT_TRUE(last->training.graph.partitions.source_columns.empty());

  const Overrides labor = {{"training.sampling.method", "Labor"},
                           {"training.sampling.layerDependency", "true"},
                           {"training.sampling.weight", "strength"},
                           {"training.sampling.expand", "Once"},
                           {"graph.timeColumn", "when"},
                           {"graph.partitions.sourceColumns", "[mask]"}};
  const Result<ParsedJob> agreed = ParseJob("job.yaml", kExampleJob, labor);
  ASSERT_TRUE(agreed.ok()) << agreed.status().ToString();
  EXPECT_EQ(agreed->training.training.sampling.draw.method, sampler::DrawMethod::kLabor);
  EXPECT_TRUE(agreed->training.training.sampling.draw.layer_dependency);
  EXPECT_EQ(agreed->training.training.sampling.draw.weight_column, "strength");
  EXPECT_EQ(agreed->training.training.sampling.draw.expand, sampler::Expand::kOnce);
  // In-edges are sorted by time, but without seedTime all of them can be sampled.
  EXPECT_EQ(agreed->training.training.sampling.draw.time_column, "");
  EXPECT_THAT(agreed->training.graph.partitions.source_columns, ::testing::ElementsAre("mask", "original_id"));
}

// The limit includes the column that LABOR adds: every process parses the effective document, which contains it.
TEST(ParseTrainingTest, CountsTheSourceColumnThatLaborAdds) {
  std::string sixteen;
  for (int i = 0; i < 16; ++i) sixteen += (i == 0 ? "[m" : ", m") + std::to_string(i);
  const Overrides labor = {{"training.sampling.method", "Labor"}, {"graph.partitions.sourceColumns", sixteen + "]"}};
  EXPECT_THAT(ErrorOf(kExampleJob, labor), HasSubstr("at most 16 columns, including original_id"));
  EXPECT_TRUE(ParseJob("job.yaml", kExampleJob, {{"graph.partitions.sourceColumns", sixteen + "]"}}).ok());
}

TEST(ParseTrainingTest, NamesIncompatibleSamplingOptions) {
  const auto error = [](const Overrides& overrides) { return ErrorOf(kExampleJob, overrides); };
  EXPECT_THAT(error({{"training.sampling.method", "Labor"}, {"training.sampling.replace", "true"}}),
              HasSubstr("spec.training.sampling.replace: Labor and Last sample without replacement"));
  EXPECT_THAT(error({{"training.sampling.layerDependency", "true"}}),
              HasSubstr("spec.training.sampling.layerDependency: only for Labor"));
  EXPECT_THAT(error({{"training.sampling.method", "Last"}}),
              HasSubstr("spec.training.sampling.method: Last needs in-edges ordered by time"));
  const std::string untimed = error({{"training.sampling.seedTime", "joined"}});
  EXPECT_THAT(untimed, HasSubstr("spec.training.sampling.seedTime: needs in-edges ordered by time"));
  EXPECT_THAT(untimed, HasSubstr("spec.training.evaluation.neighborhood: with spec.training.sampling.seedTime, "
                                 "expected Sampled: Full would use edges that are later"));
  EXPECT_THAT(untimed, HasSubstr("spec.output.save: with spec.training.sampling.seedTime, omit Embeddings and "
                                 "Predictions: they are computed from full neighborhoods"));
  EXPECT_THAT(untimed, Not(HasSubstr("GCN")));
  EXPECT_THAT(error({{"training.sampling.seedTime", "joined"}, {"training.model.type", "GCN"}}),
              HasSubstr("spec.training.sampling.seedTime: not supported with the model GCN"));
}

TEST(ParseTrainingTest, ReadsFanoutsOfRelations) {
  const Result<ParsedJob> parsed = ParseJob(
      "job.yaml",
      ExampleWith("{fanout: 10}", "{edgeTypes: [{type: \"a:writes:p\", fanout: 3}, {type: cites, fanout: -1}]}"), {});

  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const SamplingLayer& layer = parsed->training.training.sampling.layers[1];
  EXPECT_FALSE(layer.fanout.has_value());
  EXPECT_EQ(layer.edge_types.at(0).type, "a:writes:p");
  EXPECT_EQ(layer.edge_types.at(1).fanout, -1);
}

// Returns the example as a LinkPrediction job.
std::string LinkJobWith(const std::string& task, const std::string& evaluation = "") {
  std::string text = ExampleWith("      type: NodeClassification\n      label: node-label\n      split: public\n",
                                 "      type: LinkPrediction\n      split: links\n" + task);
  const std::string measured = "evaluation: {everyEpochs: 1, metric: Accuracy, neighborhood: Full, ";
  text.replace(text.find(measured), measured.size(), "evaluation: {" + evaluation);
  const std::string balance = "balance: [TrainNodes], ";
  return text.replace(text.find(balance), balance.size(), "");
}

TEST(ParseTrainingTest, ReadsLinkPrediction) {
  const Result<ParsedJob> plain = ParseJob("job.yaml", LinkJobWith(""), {});
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_EQ(plain->training.training.task.type, TaskType::kLinkPrediction);
  EXPECT_EQ(plain->training.training.task.negatives, sampler::NegativeKind::kUniform);
  EXPECT_EQ(plain->training.training.task.num_negatives, 1);
  EXPECT_EQ(plain->training.training.task.scorer, Scorer::kDot);
  EXPECT_EQ(plain->training.training.evaluation.metric, Metric::kMrr);
  EXPECT_EQ(plain->training.training.evaluation.candidates, 0);
  EXPECT_TRUE(plain->training.training.evaluation.filtered);

  const Result<ParsedJob> full = ParseJob(
      "job.yaml",
      LinkJobWith("      edgeType: a:cites:a\n      reverseEdgeType: rev_cites\n"
                  "      negatives: {type: Joint, count: 32}\n      scorer: ComplEx\n      loss: CrossEntropy\n",
                  "metric: HitsAtK, k: 3, candidates: 100, filtered: false, "),
      {});
  ASSERT_TRUE(full.ok()) << full.status().ToString();
  const Task& task = full->training.training.task;
  EXPECT_EQ(task.edge_type, "a:cites:a");
  EXPECT_EQ(task.reverse_edge_type, "rev_cites");
  EXPECT_EQ(task.negatives, sampler::NegativeKind::kJoint);
  EXPECT_EQ(task.num_negatives, 32);
  EXPECT_EQ(task.scorer, Scorer::kComplEx);
  EXPECT_EQ(task.loss, LinkLoss::kCrossEntropy);
  const Evaluation& evaluation = full->training.training.evaluation;
  EXPECT_EQ(evaluation.metric, Metric::kHitsAtK);
  EXPECT_EQ(evaluation.k, 3);
  EXPECT_EQ(evaluation.candidates, 100);
  EXPECT_FALSE(evaluation.filtered);

  const Result<ParsedJob> several = ParseJob("job.yaml", LinkJobWith("      edgeTypes: [likes, 'a:cites:a']\n"), {});
  ASSERT_TRUE(several.ok()) << several.status().ToString();
  EXPECT_THAT(several->training.training.task.edge_types, ElementsAre("likes", "a:cites:a"));
  EXPECT_THAT(EdgeTypeNames(several->training.training.task), ElementsAre("a:cites:a", "likes"));
  EXPECT_THAT(EdgeTypeNames(task), ElementsAre("a:cites:a"));
  EXPECT_TRUE(EdgeTypeNames(plain->training.training.task).empty());
}

TEST(ParseTrainingTest, RefusesOptionsIncompatibleWithLinkPrediction) {
  EXPECT_THAT(ErrorOf(LinkJobWith("      nodeType: paper\n")),
              HasSubstr("spec.training.task.nodeType: only for tasks on nodes: name edgeType instead"));
  EXPECT_THAT(ErrorOf(LinkJobWith("      edgeType: likes\n      edgeTypes: [likes, cites]\n")),
              HasSubstr("spec.training.task.edgeTypes: edgeType names one edge type, edgeTypes several"));
  EXPECT_THAT(ErrorOf(LinkJobWith("      edgeTypes: [likes, cites]\n      reverseEdgeType: liked_by\n")),
              HasSubstr("spec.training.task.reverseEdgeType: needs edgeType instead of edgeTypes"));
  EXPECT_THAT(ErrorOf(LinkJobWith("      edgeTypes: [likes, likes]\n")), HasSubstr("occurs twice in the list"));
  EXPECT_THAT(ErrorOf(LinkJobWith("      edgeTypes: []\n")), HasSubstr("a list of 1 to 256 items"));
  EXPECT_THAT(
      ErrorOf(LinkJobWith("", "metric: Accuracy, ")),
      HasSubstr("spec.training.evaluation.metric: expected MRR | HitsAtK | ROCAUC for LinkPrediction, found Accuracy"));
  EXPECT_THAT(ErrorOf(LinkJobWith("", "metric: ROCAUC, ")), HasSubstr("ROCAUC needs at least 1"));
  EXPECT_THAT(ErrorOf(LinkJobWith("", "neighborhood: Sampled, ")),
              HasSubstr("tasks on edges are evaluated over full neighborhoods: choose Full"));
  EXPECT_THAT(ErrorOf(LinkJobWith("      scorer: RotatE\n"), {{"spec.training.model.hiddenSize", "33"}}),
              HasSubstr("ComplEx and RotatE use complex numbers and need an even size, found 33"));
  EXPECT_THAT(ErrorOf(LinkJobWith("      negatives: {type: InBatch, count: 140}\n")),
              HasSubstr("expected a number below batchSize (140)"));
  // 2^23 edges per trainer; the limit is 2^28 embeddings of 16 values.
  const Overrides large = {{"spec.training.batchSize", "16777216"},
                           {"spec.training.model.hiddenSize", "16"},
                           {"spec.trainers.replicas", "2"}};
  EXPECT_THAT(ErrorOf(LinkJobWith("      negatives: {type: Uniform, count: 64}\n"), large),
              AllOf(HasSubstr("at most 268435456 negatives, whose embeddings have at most 4294967296 values unless"),
                    HasSubstr("; a trainer's share has 536870912 negatives, expected at most 268435456")));
  EXPECT_THAT(ErrorOf(LinkJobWith("      negatives: {type: Joint, count: 64}\n"), large),
              HasSubstr("a trainer's share of a step has at most 268435456 negatives"));
  EXPECT_EQ(ErrorOf(LinkJobWith("      negatives: {type: Uniform, count: 32}\n"), large), "");
  EXPECT_EQ(ErrorOf(LinkJobWith("      negatives: {type: InDegree, count: 1}\n"), large), "");
  EXPECT_THAT(ErrorOf(LinkJobWith("      negatives: {type: InDegree, count: 2}\n"), large),
              HasSubstr("so that batchSize times count is at most 16777216; found 33554432"));
  EXPECT_THAT(ErrorOf(LinkJobWith("", "neighborhood: Sampled, "),
                      {{"spec.graph.timeColumn", "year"}, {"spec.training.sampling.seedTime", "year"}}),
              HasSubstr("only for tasks on nodes: omit it"));
  // 2^18 edges per trainer.
  const Overrides sampled = {{"spec.training.batchSize", "524288"},
                             {"spec.training.model.hiddenSize", "16"},
                             {"spec.trainers.replicas", "2"},
                             {"spec.samplers.replicas", "1"}};
  EXPECT_EQ(ErrorOf(LinkJobWith("      negatives: {type: Uniform, count: 64}\n"), sampled), "");
  EXPECT_THAT(ErrorOf(LinkJobWith("      negatives: {type: Uniform, count: 65}\n"), sampled),
              HasSubstr("spec.training.task.negatives.count: a sampler draws at most 16777216"));
  EXPECT_THAT(ErrorOf(LinkJobWith("      exclude: Self\n")),
              HasSubstr("spec.training.task.exclude: only for EdgeClassification and EdgeRegression"));
  for (const char* metric : {"MRR", "ROCAUC, candidates: 5"}) {
    EXPECT_THAT(ErrorOf(LinkJobWith("", std::string("metric: ") + metric + ", k: 3, ")),
                HasSubstr("spec.training.evaluation.k: only for the metric HitsAtK"));
  }
  // Fields that are valid only for LinkPrediction.
  EXPECT_THAT(ErrorOf(ExampleWith("split: public", "split: public\n      scorer: Dot")),
              HasSubstr("spec.training.task.scorer: only for LinkPrediction"));
  EXPECT_THAT(ErrorOf(ExampleWith("split: public", "split: public\n      edgeTypes: [likes]")),
              HasSubstr("spec.training.task.edgeTypes: only for LinkPrediction"));
  EXPECT_THAT(ErrorOf(ExampleWith("metric: Accuracy", "metric: MRR")), HasSubstr("for classifications, found MRR"));
  EXPECT_THAT(ErrorOf(ExampleWith("metric: Accuracy", "metric: Accuracy, k: 3")), HasSubstr("only for LinkPrediction"));
}

// Returns the example as an edge classification or regression job.
std::string EdgeJobWith(const std::string& type, const std::string& task, const std::string& evaluation = "") {
  std::string text = ExampleWith("      type: NodeClassification\n      label: node-label\n      split: public\n",
                                 "      type: " + type + "\n      split: rated\n" + task);
  const std::string measured = "evaluation: {everyEpochs: 1, metric: Accuracy, neighborhood: Full, ";
  text.replace(text.find(measured), measured.size(), "evaluation: {" + evaluation);
  const std::string balance = "balance: [TrainNodes], ";
  return text.replace(text.find(balance), balance.size(), "");
}

TEST(ParseTrainingTest, ReadsTasksOnLabelsOfEdges) {
  const Result<ParsedJob> plain = ParseJob("job.yaml", EdgeJobWith("EdgeClassification", "      label: rating\n"), {});
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_EQ(plain->training.training.task.type, TaskType::kEdgeClassification);
  EXPECT_EQ(plain->training.training.task.label, "rating");
  EXPECT_EQ(plain->training.training.task.exclude, ExcludeEdges::kNone);
  EXPECT_EQ(plain->training.training.evaluation.metric, Metric::kAccuracy);

  const Result<ParsedJob> full =
      ParseJob("job.yaml",
               EdgeJobWith("EdgeRegression",
                           "      label: rating\n      edgeType: a:rates:a\n      reverseEdgeType: rated_by\n"
                           "      exclude: ReverseEdges\n"),
               {});
  ASSERT_TRUE(full.ok()) << full.status().ToString();
  EXPECT_EQ(full->training.training.task.edge_type, "a:rates:a");
  EXPECT_EQ(full->training.training.task.reverse_edge_type, "rated_by");
  EXPECT_EQ(full->training.training.task.exclude, ExcludeEdges::kReverseEdges);
  EXPECT_EQ(full->training.training.evaluation.metric, Metric::kMeanSquaredError);
}

TEST(ParseTrainingTest, RefusesOptionsIncompatibleWithEdgeLabels) {
  const auto error = [](const std::string& task, const std::string& evaluation = "", const Overrides& overrides = {}) {
    return ErrorOf(EdgeJobWith("EdgeClassification", "      label: rating\n" + task, evaluation), overrides);
  };
  EXPECT_EQ(error("      multiLabel: true\n"), "");
  EXPECT_THAT(ErrorOf(EdgeJobWith("EdgeClassification", "")),
              HasSubstr("spec.training.task.label: name the edge column with the labels"));
  EXPECT_THAT(ErrorOf(EdgeJobWith("EdgeRegression", "      label: rating\n      multiLabel: true\n")),
              HasSubstr("spec.training.task.multiLabel: only for NodeClassification and EdgeClassification"));
  EXPECT_THAT(error("      nodeType: a\n"),
              HasSubstr("spec.training.task.nodeType: only for tasks on nodes: name edgeType instead"));
  EXPECT_THAT(error("      exclude: ReverseEdges\n"),
              HasSubstr("spec.training.task.exclude: ReverseEdges needs reverseEdgeType"));
  EXPECT_EQ(error("      exclude: ReverseEdges\n", "", {{"spec.graph.preprocess.addReverseEdges", "true"}}), "");
  EXPECT_THAT(error("      scorer: Dot\n"), HasSubstr("spec.training.task.scorer: only for LinkPrediction"));
  EXPECT_THAT(error("", "metric: MRR, "),
              HasSubstr("expected Accuracy | MacroF1 | MicroF1 | ROCAUC for classifications, found MRR"));
  EXPECT_THAT(error("", "metric: MeanSquaredError, "), HasSubstr("for classifications, found MeanSquaredError"));
  EXPECT_THAT(error("", "neighborhood: Sampled, "), HasSubstr("tasks on edges are evaluated over full"));
  const std::string balanced =
      ExampleWith("NodeClassification\n      label: node-label", "EdgeRegression\n      label: rating");
  EXPECT_THAT(ErrorOf(balanced), HasSubstr("TrainNodes needs a task on nodes"));
  EXPECT_EQ(error("", "", {{"spec.samplers.replicas", "2"}}), "");
  EXPECT_THAT(ErrorOf(ExampleWith("split: public", "split: public\n      edgeType: cites")),
              HasSubstr("spec.training.task.edgeType: only for tasks on edges"));
  EXPECT_THAT(ErrorOf(ExampleWith("split: public", "split: public\n      exclude: Self")),
              HasSubstr("spec.training.task.exclude: only for EdgeClassification and EdgeRegression"));
}

}  // namespace
}  // namespace espalier::job
