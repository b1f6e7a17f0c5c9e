// Parsing of invalid documents: what their errors name, and the limits on untrusted YAML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/job/parsing/parse.h"
#include "services/job/testing/example_job.h"
#include "services/job/testing/parse_example.h"

namespace espalier::job {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ParseErrorsTest, NamesFileLineColumnAndPathOfABadValue) {
  EXPECT_EQ(ErrorOf(ExampleWith("epochs: 50", "epochs: many")),
            "job.yaml:22:13: spec.training.epochs: expected an integer from 0 to 1000000, found 'many'");
  EXPECT_THAT(ErrorOf(ExampleWith("epochs: 50", "epochs: -1")), HasSubstr("found '-1'"));
  EXPECT_THAT(ErrorOf(ExampleWith("epochs: 50", "epochs: \"50\"")), HasSubstr("found the text '50'"));
  EXPECT_THAT(ErrorOf(ExampleWith("epochs: 50", "epochs: 1_000")), HasSubstr("expected an integer"));
  EXPECT_THAT(ErrorOf(ExampleWith("epochs: 50", "epochs: 010")), HasSubstr("expected an integer"));
  EXPECT_THAT(ErrorOf(ExampleWith("epochs: 50", "epochs: 99999999999999999999")), HasSubstr("expected an integer"));
  EXPECT_THAT(ErrorOf(ExampleWith("epochs: 50", "epochs: [50]")), HasSubstr("found a list"));
  EXPECT_THAT(ErrorOf(ExampleWith("learningRate: 0.01", "learningRate: 0")), HasSubstr("a number above 0 to 1000"));
  EXPECT_THAT(ErrorOf(ExampleWith("learningRate: 0.01", "learningRate: .inf")), HasSubstr("expected a number"));
  EXPECT_THAT(ErrorOf(ExampleWith("dropout: 0.5", "dropout: 1")), HasSubstr("from 0 to below 1"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.model.type", "GAT"}, {"training.model.attentionDropout", "1"}}),
              HasSubstr("from 0 to below 1"));
}

TEST(ParseErrorsTest, ShowsAllViolationsAtOnceInDocumentOrder) {
  std::string text = ExampleWith("epochs: 50", "epochs: many");
  text.replace(text.find("count: 2"), 8, "cuont: 2");

  const std::string error = ErrorOf(text);

  EXPECT_THAT(error,
              HasSubstr("job.yaml:9:18: spec.graph.partitions.'cuont': unknown field (did you mean 'count'?)\n"));
  EXPECT_THAT(error, HasSubstr("job.yaml:22:13: spec.training.epochs: "));
  EXPECT_LT(error.find("cuont"), error.find("many"));
}

TEST(ParseErrorsTest, SuggestsPathOfFieldWithSameName) {
  EXPECT_EQ(ErrorOf(kExampleJob, {{"evaluation.metric", "ROCAUC"}}),
            "--set evaluation.metric: spec.'evaluation': unknown field (did you mean 'spec.training.evaluation'?)");
  EXPECT_EQ(ErrorOf(kExampleJob, {{"training.hiddenSize", "8"}}),
            "--set training.hiddenSize: spec.training.'hiddenSize': unknown field (did you mean "
            "'spec.training.model.hiddenSize'?)");
  // Many roles have replicas.
  EXPECT_EQ(ErrorOf(kExampleJob, {{"training.replicas", "8"}}),
            "--set training.replicas: spec.training.'replicas': unknown field");
}

TEST(ParseErrorsTest, RefusesAmbiguousYaml) {
  for (const char* word : {"no", "off", "y", "True", "1_000", "0x10", "1:30", "3.5", "2024-01-01", ".inf", "017"}) {
    EXPECT_THAT(ErrorOf(ExampleWith("split: public", std::string("split: ") + word)), HasSubstr("in quotes")) << word;
  }
  EXPECT_EQ(ErrorOf(ExampleWith("split: public", "split: \"no\"")), "");
  EXPECT_EQ(ErrorOf(ExampleWith("split: public", "split: 5fold")), "");
  EXPECT_THAT(ErrorOf(ExampleWith("replace: false", "replace: no")), HasSubstr("expected true or false, found 'no'"));
}

TEST(ParseErrorsTest, RefusesTooManyServers) {
  const auto error = [](const char* partitions) {
    return ErrorOf(ExampleWith("replicasPerPartition: 1", "replicasPerPartition: 16"),
                   {{"servers.containersPerPod", "16"}, {"graph.partitions.count", partitions}});
  };
  EXPECT_EQ(error("256"), "");
  EXPECT_THAT(error("257"), HasSubstr("spec.servers.containersPerPod: partitions times replicas times containers are "
                                      "more than 65536 processes: 65792"));
}

TEST(ParseErrorsTest, DocumentWithoutFileHasErrorsWithoutPositions) {
  const Result<ParsedJob> parsed =
      ParseJob("", ExampleWith("epochs: 50", "epochs: many\n    wrong: 1"), {}, ReadBy::kOperator);

  EXPECT_EQ(parsed.status().message(),
            "spec.training.epochs: expected an integer from 0 to 1000000, found 'many'\n"
            "spec.training.'wrong': unknown field");
}

TEST(ParseErrorsTest, RefusesDuplicateListKeys) {
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.env", "[{name: A, value: x}, {name: A, value: z}]"}}),
              HasSubstr("spec.trainers.env[1]: a second entry for 'A'"));
  EXPECT_THAT(ErrorOf(ExampleWith("{fanout: 10}", "{edgeTypes: [{type: r, fanout: 1}, {type: r, fanout: 2}]}")),
              HasSubstr("spec.training.sampling.layers[1].edgeTypes[1]: a second entry for 'r'"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"servers.env", "[{name: A, value: x, valueFrom: {fieldRef: {}}}]"}}),
              HasSubstr("spec.servers.env[0]: has both value and valueFrom"));
}

TEST(ParseErrorsTest, FreeObjectsAreObjects) {
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.template", "[1]"}}),
              HasSubstr("spec.trainers.template: expected an object, found a list"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"servers.env", "[{name: A, valueFrom: x}]"}}),
              HasSubstr("spec.servers.env[0].valueFrom: expected an object, found 'x'"));
}

TEST(ParseErrorsTest, ChecksFieldsUsedOnlyOnClusters) {
  EXPECT_THAT(ErrorOf(ExampleWith("memory: 1Gi", "memory: lots")),
              HasSubstr("spec.trainers.resources.limits.'memory': expected a quantity (250m, 2, 512Mi), found 'lots'"));
  for (const char* good : {"2", "\"0.5\"", "500m", "1E", "1.5Gi"}) {
    EXPECT_EQ(ErrorOf(ExampleWith("cpu: 250m", std::string("cpu: ") + good)), "") << good;
  }
  for (const char* bad : {"0.5", "010", "-1", "1_000", "\"1.\"", "1KiB", "[1]"}) {
    EXPECT_THAT(ErrorOf(ExampleWith("cpu: 250m", std::string("cpu: ") + bad)), HasSubstr("expected a quantity")) << bad;
  }
  EXPECT_THAT(ErrorOf(ExampleWith("cleanPodPolicy: Running", "cleanPodPolicy: Some")),
              HasSubstr("expected All | Running | None, found 'Some'"));
  EXPECT_THAT(ErrorOf(ExampleWith("maxReplicas: 4", "maxReplicas: 1")),
              HasSubstr("is below spec.trainers.replicas (2)"));
  EXPECT_THAT(ErrorOf(ExampleWith("    threads: 1\n", "    threads: 1\n    nodeSelector: {zone: on}\n")),
              HasSubstr("some YAML parsers read an unquoted 'on' as a boolean"));
  const std::string long_value(64, 'z');
  EXPECT_THAT(
      ErrorOf(ExampleWith("    threads: 1\n", "    threads: 1\n    nodeSelector: {zone: " + long_value + "}\n")),
      HasSubstr("nodeSelector.'zone': expected text of at most 63 bytes, found 'zzz"));
}

TEST(ParseErrorsTest, ChecksRulesBetweenFields) {
  EXPECT_THAT(ErrorOf(ExampleWith("algorithm: METIS", "algorithm: External")), HasSubstr("External needs"));
  EXPECT_THAT(ErrorOf(ExampleWith("metric: Accuracy", "metric: MeanSquaredError")),
              HasSubstr("spec.training.evaluation.metric: expected Accuracy | MacroF1 | MicroF1 | ROCAUC for "
                        "classifications, found MeanSquaredError"));
  EXPECT_THAT(ErrorOf(ExampleWith("{fanout: 10}", "{}")), HasSubstr("layers[1]: expected fanout, edgeTypes or both"));
  EXPECT_THAT(ErrorOf(ExampleWith("{fanout: 10}", "{fanout: 0}")), HasSubstr("samples no neighbors"));
  EXPECT_THAT(
      ErrorOf(ExampleWith("epochs: 50", "epochs: 0")),
      HasSubstr("spec.training.epochs: with 0 epochs, the run uses an existing model: set spec.training.model.uri"));
  EXPECT_EQ(ErrorOf(ExampleWith("epochs: 50", "epochs: 0"), {{"training.model.uri", "s3://results/m"}}), "");
  EXPECT_THAT(ErrorOf(kExampleJob, {{"checkpoint.resumeFrom", "a"}, {"training.model.uri", "b"}}),
              HasSubstr("spec.checkpoint.resumeFrom: a checkpoint contains the model"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"tls.mode", "SecretRef"}}), HasSubstr("SecretRef needs spec.tls.secretName"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"tls", "{mode: Managed, secretName: a}"}}),
              HasSubstr("only for the mode SecretRef"));
  EXPECT_THAT(ErrorOf(ExampleWith("weightDecay: 0.0005", "momentum: 0.9")), HasSubstr("momentum: only for SGD"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.model.type", "GCN"}, {"training.model.aggregator", "Pool"}}),
              HasSubstr("aggregator: only for GraphSAGE"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.model",
                                     "{type: TorchScript, uri: m.pt, hiddenSize: 8, dropout: 0.1, "
                                     "normalization: Layer}"}}),
              AllOf(HasSubstr("hiddenSize: not for TorchScript"), HasSubstr("dropout: not for TorchScript"),
                    HasSubstr("normalization: not for TorchScript")));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.model.heads", "8"}}), HasSubstr("heads: only for GAT and GATv2"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.model.type", "GAT"}, {"training.model.heads", "7"}}),
              HasSubstr("spec.training.model.hiddenSize: is not divisible by heads: it is the width of all heads "
                        "together, such as 56 for 8 columns a head; found 64 for 7 heads"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.model.type", "TorchScript"}}),
              HasSubstr("TorchScript needs the module's file"));
  Overrides resumed = {
      {"training.model.type", "TorchScript"}, {"training.model.uri", "m.pt"}, {"checkpoint.resumeFrom", "a"}};
  EXPECT_EQ(ErrorOf(kExampleJob, resumed), "");
  resumed.emplace_back("training.epochs", "0");
  EXPECT_THAT(ErrorOf(kExampleJob, resumed),
              HasSubstr("spec.checkpoint.resumeFrom: with 0 epochs, the run uses the parameters in the TorchScript "
                        "module's file: omit spec.checkpoint.resumeFrom"));
  EXPECT_THAT(ErrorOf(ExampleWith("- features: [node-feat]", "- features: [a]\n    - features: [b]")),
              HasSubstr("spec.training.inputs[1]: nodeType may be omitted only if there is one entry"));
}

TEST(ParseErrorsTest, NamesMissingFields) {
  EXPECT_THAT(ErrorOf(ExampleWith("      split: public\n", "")),
              HasSubstr("job.yaml:12:7: spec.training.task.split: is missing: expected a name"));
  EXPECT_THAT(ErrorOf("spec: {}"), HasSubstr("apiVersion: is missing: expected espalier.io/v1alpha1"));
  EXPECT_THAT(ErrorOf(ExampleWith("kind: DistTraining", "kind: Deployment")), HasSubstr("expected DistTraining"));
  EXPECT_THAT(ErrorOf(ExampleWith("name: cora", "name: Cora")), HasSubstr("lower-case letters"));
}

TEST(ParseErrorsTest, NamesTheOptionOfAnOverride) {
  EXPECT_EQ(ErrorOf(kExampleJob, {{"training.epochs", "many"}}),
            "--set training.epochs: spec.training.epochs: expected an integer from 0 to 1000000, found 'many'");
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.epoch", "3"}}),
              HasSubstr("--set training.epoch: spec.training.'epoch': unknown field (did you mean 'epochs'?)"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.epochs.x", "3"}}),
              HasSubstr("cannot set 'x': its parent is not an object"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.inputs[7].features", "[x]"}}),
              HasSubstr("cannot set item 7: its parent is not a list, or is too short"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"a..b", "3"}}), HasSubstr("not a path"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.epochs", "[3"}}),
              HasSubstr("--set training.epochs: expected a field's name"));
}

TEST(ParseErrorsTest, RefusesBadYamlWithPosition) {
  EXPECT_THAT(ErrorOf("apiVersion: [unclosed"), HasSubstr("job.yaml:"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("expected a DistTraining document, found nothing"));
  EXPECT_THAT(ErrorOf("just text"), HasSubstr("expected a DistTraining document"));
  EXPECT_THAT(ErrorOf("- 1"), HasSubstr("found a list"));
  EXPECT_THAT(ErrorOf(std::string("\x00\xff\xfe\x01", 4)), Not(""));
  EXPECT_THAT(ErrorOf(std::string(kExampleJob) + "---\nkind: x\n"), HasSubstr("a second document"));
  // The message is the same if the second document is invalid.
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  for (const std::string& second : {std::string("{{ x }}: 1"), deep, std::string("a: \xff")}) {
    EXPECT_THAT(ErrorOf(std::string(kExampleJob) + "---\n" + second + "\n"), HasSubstr("a second document"));
    EXPECT_THAT(ErrorOf(kExampleJob, {{"training.epochs", "3\n---\n" + second}}), HasSubstr("a second document"));
  }
  EXPECT_THAT(ErrorOf(ExampleWith("seed: 1", "seed: 1\n    seed: 2")), HasSubstr("is duplicate (first on line 23)"));
  EXPECT_THAT(ErrorOf(ExampleWith("seed: 1", "seed: !!int 1")), HasSubstr("the tag"));
  EXPECT_THAT(ErrorOf(ExampleWith("seed: 1", "? [a]\n    : 1")), HasSubstr("expected a field's name"));
}

TEST(ParseErrorsTest, BoundsSizeDepthAndAliases) {
  EXPECT_THAT(ErrorOf(std::string(2 << 20, ' ')), HasSubstr("at most 1048576 are read"));
  EXPECT_THAT(ErrorOf(std::string(100, '[') + std::string(100, ']')), HasSubstr("nested deeper than 40 levels"));
  EXPECT_THAT(ErrorOf(std::string(200'000, '[') + std::string(200'000, ']')), HasSubstr("nested deeper"));
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous;
    for (int k = 1; k < 10; ++k) laughs += ", " + previous;
    laughs += "]\n";
  }
  EXPECT_THAT(ErrorOf("spec: &a {x: 1}\nother:\n  ? *a\n  : 1\n"),
              HasSubstr("expected a field's name, found an alias of a list or an object"));
  EXPECT_THAT(ErrorOf(laughs), HasSubstr("aliases"));
  std::string long_text = "a: &a " + std::string(500'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 1000; ++i) long_text += ", *a";
  EXPECT_THAT(ErrorOf(long_text + "]\n"), HasSubstr("aliases expand to more text"));
  EXPECT_THAT(ErrorOf("a: &a [*a]"), HasSubstr("job.yaml:1:"));
}

TEST(ParseErrorsTest, RefusesBytesThatAreNotUtf8) {
  EXPECT_THAT(ErrorOf(ExampleWith("name: cora", "name: co\xffra")), HasSubstr("bytes that are not UTF-8"));
  EXPECT_THAT(ErrorOf("sp\xc3(c: {}\n"), HasSubstr("job.yaml:1:1: bytes that are not UTF-8"));
}

}  // namespace
}  // namespace espalier::job
