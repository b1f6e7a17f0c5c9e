#include "services/job/parsing/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/job/testing/example_job.h"
#include "services/job/testing/parse_example.h"

namespace espalier::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

TEST(ParseJobTest, ReadsEveryFieldOfTheExample) {
  const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob, {});

  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const DistTraining& job = parsed->training;
  EXPECT_EQ(job.name, "cora");
  EXPECT_EQ(job.graph.source.uri, "/srv/graphs/cora");
  EXPECT_EQ(job.graph.source.format, GraphFormat::kOgb);
  EXPECT_EQ(job.graph.preprocess.normalize_features, RowNormalization::kRow);
  EXPECT_EQ(job.graph.partitions.count, 2u);
  EXPECT_THAT(job.graph.partitions.balance, ElementsAre(PartitionBalance::kTrainNodes));
  EXPECT_EQ(job.training.task.split, "public");
  EXPECT_THAT(job.training.inputs.at(0).features, ElementsAre("node-feat"));
  EXPECT_EQ(job.training.model.type, ModelType::kGraphSage);
  ASSERT_EQ(job.training.sampling.layers.size(), 2u);
  EXPECT_EQ(job.training.sampling.layers[0].fanout, 25);
  EXPECT_EQ(job.training.batch_size, 140);
  EXPECT_EQ(job.training.epochs, 50);
  EXPECT_EQ(job.training.seed, 1u);
  EXPECT_DOUBLE_EQ(job.training.optimizer.weight_decay, 0.0005);
  EXPECT_EQ(job.training.evaluation.patience, 20);
  EXPECT_EQ(job.trainer_replicas, 2u);
  EXPECT_EQ(job.output_uri, "/srv/results/cora");
  EXPECT_THAT(job.output_save, ElementsAre(OutputKind::kModel, OutputKind::kEmbeddings, OutputKind::kPredictions));
  EXPECT_EQ(job.active_deadline, std::chrono::seconds(3600));
}

TEST(ParseJobTest, ListsFieldsUsedOnlyOnClusters) {
  const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob, {});

  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(
      parsed->ignored,
      ElementsAre("spec.partitioner.resources", "spec.servers.resources", "spec.trainers.minReplicas",
                  "spec.trainers.maxReplicas", "spec.trainers.resources", "spec.trainers.template",
                  "spec.runPolicy.suspend", "spec.runPolicy.cleanPodPolicy", "spec.runPolicy.ttlSecondsAfterFinished"));
}

TEST(ParseJobTest, TheEffectiveDocumentParsesToTheSameValue) {
  const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob, {{"optimizer", "{learningRate: 0.00001}"}});
  ASSERT_FALSE(parsed.ok());  // "optimizer" means spec.optimizer, but the field is spec.training.optimizer

  const Result<ParsedJob> first =
      ParseJob("job.yaml", kExampleJob, {{"training.optimizer.learningRate", "0.00001"}, {"trainers.threads", "4"}});
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const Result<ParsedJob> second = ParseJob("job.json", first->effective_json, {});
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(second->effective_json, first->effective_json);
  EXPECT_EQ(second->ignored, first->ignored);
  EXPECT_DOUBLE_EQ(second->training.training.optimizer.learning_rate, 0.00001);
  EXPECT_EQ(second->training.trainer_threads, 4);
}

TEST(ParseJobTest, EffectiveDocumentHasDefaults) {
  const Result<ParsedJob> parsed = ParseJob("job.yaml", R"(
apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: small}
spec:
  graph:
    source: {uri: graph, format: NPY}
  training:
    task: {type: NodeRegression, split: s}
    inputs: [{features: [x]}]
    model: {type: GraphSAGE}
    sampling: {layers: [{fanout: -1}]}
)",
                                            {});

  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const auto effective = nlohmann::json::parse(parsed->effective_json);
  EXPECT_EQ(effective["spec"]["training"]["batchSize"], 1024);
  EXPECT_EQ(effective["spec"]["training"]["evaluation"]["metric"], "MeanSquaredError");
  EXPECT_EQ(effective["spec"]["graph"]["partitions"]["algorithm"], "METIS");
  EXPECT_EQ(parsed->training.training.evaluation.metric, Metric::kMeanSquaredError);
  EXPECT_EQ(parsed->training.training.task.label, "node-label");
  EXPECT_EQ(parsed->training.training.evaluation.patience, 0);
  EXPECT_EQ(parsed->training.trainer_replicas, 1u);
}

TEST(ParseJobTest, NamesFileLineColumnAndPathOfABadValue) {
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

TEST(ParseJobTest, ShowsAllViolationsAtOnceInDocumentOrder) {
  std::string text = ExampleWith("epochs: 50", "epochs: many");
  text.replace(text.find("count: 2"), 8, "cuont: 2");

  const std::string error = ErrorOf(text);

  EXPECT_THAT(error,
              HasSubstr("job.yaml:9:18: spec.graph.partitions.'cuont': unknown field (did you mean 'count'?)\n"));
  EXPECT_THAT(error, HasSubstr("job.yaml:22:13: spec.training.epochs: "));
  EXPECT_LT(error.find("cuont"), error.find("many"));
}

TEST(ParseJobTest, SuggestsPathOfFieldWithSameName) {
  EXPECT_EQ(ErrorOf(kExampleJob, {{"evaluation.metric", "ROCAUC"}}),
            "--set evaluation.metric: spec.'evaluation': unknown field (did you mean 'spec.training.evaluation'?)");
  EXPECT_EQ(ErrorOf(kExampleJob, {{"training.hiddenSize", "8"}}),
            "--set training.hiddenSize: spec.training.'hiddenSize': unknown field (did you mean "
            "'spec.training.model.hiddenSize'?)");
  // Many roles have replicas.
  EXPECT_EQ(ErrorOf(kExampleJob, {{"training.replicas", "8"}}),
            "--set training.replicas: spec.training.'replicas': unknown field");
}

TEST(ParseJobTest, RefusesAmbiguousYaml) {
  for (const char* word : {"no", "off", "y", "True", "1_000", "0x10", "1:30", "3.5", "2024-01-01", ".inf", "017"}) {
    EXPECT_THAT(ErrorOf(ExampleWith("split: public", std::string("split: ") + word)), HasSubstr("in quotes")) << word;
  }
  EXPECT_EQ(ErrorOf(ExampleWith("split: public", "split: \"no\"")), "");
  EXPECT_EQ(ErrorOf(ExampleWith("split: public", "split: 5fold")), "");
  EXPECT_THAT(ErrorOf(ExampleWith("replace: false", "replace: no")), HasSubstr("expected true or false, found 'no'"));
}

TEST(ParseJobTest, APartitionHasOneServerOrMore) {
  const Result<ParsedJob> parsed =
      ParseJob("job.yaml", ExampleWith("replicasPerPartition: 1", "replicasPerPartition: 2"), {});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->training.server_replicas_per_partition, 2u);
  EXPECT_NE(ErrorOf(ExampleWith("replicasPerPartition: 1", "replicasPerPartition: 0")), "");
  EXPECT_NE(ErrorOf(ExampleWith("replicasPerPartition: 1", "replicasPerPartition: 17")), "");
}

TEST(ParseJobTest, AServerIsOneProcessOrMore) {
  EXPECT_EQ(ParseJob("job.yaml", kExampleJob, {})->training.server_containers_per_pod, 1u);
  const Result<ParsedJob> parsed = ParseJob("job.yaml", ExampleWith("containersPerPod: 1", "containersPerPod: 4"), {});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->training.server_containers_per_pod, 4u);
  EXPECT_NE(ErrorOf(ExampleWith("containersPerPod: 1", "containersPerPod: 0")), "");
  EXPECT_NE(ErrorOf(ExampleWith("containersPerPod: 1", "containersPerPod: 17")), "");
}

TEST(ParseJobTest, RefusesTooManyServers) {
  const auto error = [](const char* partitions) {
    return ErrorOf(ExampleWith("replicasPerPartition: 1", "replicasPerPartition: 16"),
                   {{"servers.containersPerPod", "16"}, {"graph.partitions.count", partitions}});
  };
  EXPECT_EQ(error("256"), "");
  EXPECT_THAT(error("257"), HasSubstr("spec.servers.containersPerPod: partitions times replicas times containers are "
                                      "more than 65536 processes: 65792"));
}

TEST(ParseJobTest, ReadsOutputAndCheckpointFields) {
  const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob,
                                            {{"storage.s3.endpoint", "https://s3.example.com"},
                                             {"storage.s3.region", "eu-west-1"},
                                             {"storage.s3.credentials.secretName", "cora-s3"},
                                             {"graph.source.uri", "s3://graphs/cora"},
                                             {"graph.timeColumn", "year"},
                                             {"checkpoint.every.epochs", "5"},
                                             {"checkpoint.every.steps", "100"},
                                             {"checkpoint.keep", "3"},
                                             {"checkpoint.resumeFrom", "s3://results/earlier/checkpoints"},
                                             {"output.uri", "s3://results/cora"},
                                             {"output.nodesUri", "s3://graphs/chosen"},
                                             {"tls", "{mode: SecretRef, secretName: cora-tls}"},
                                             {"runPolicy.backoffLimit", "0"}});

  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const DistTraining& job = parsed->training;
  EXPECT_EQ(job.s3.endpoint, "https://s3.example.com");
  EXPECT_EQ(job.s3.region, "eu-west-1");
  EXPECT_EQ(job.s3.credentials_secret, "cora-s3");
  EXPECT_EQ(job.graph.source.uri, "s3://graphs/cora");
  EXPECT_EQ(job.graph.time_column, "year");
  EXPECT_EQ(job.checkpoint.every_epochs, 5);
  EXPECT_EQ(job.checkpoint.every_steps, 100);
  EXPECT_EQ(job.checkpoint.every, std::chrono::seconds(0));
  EXPECT_EQ(job.checkpoint.keep, 3);
  EXPECT_EQ(job.checkpoint.resume_from, "s3://results/earlier/checkpoints");
  EXPECT_EQ(job.output_uri, "s3://results/cora");
  EXPECT_EQ(job.output_nodes_uri, "s3://graphs/chosen");
  EXPECT_EQ(job.tls, TlsMode::kSecretRef);
  EXPECT_EQ(job.tls_secret, "cora-tls");
  EXPECT_EQ(job.backoff_limit, 0);
  EXPECT_THAT(parsed->ignored, IsSupersetOf({"spec.storage.s3.credentials.secretName", "spec.tls.secretName"}));
}

TEST(ParseJobTest, SavesEveryTenMinutesByDefault) {
  const auto checkpoint_of = [](const Overrides& overrides) {
    const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob, overrides);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    return parsed.ok() ? parsed->training.checkpoint : Checkpoint{};
  };
  for (const Overrides& silent : {Overrides{}, {{"checkpoint.every", "{}"}}, {{"checkpoint.every.seconds", ""}}}) {
    EXPECT_EQ(checkpoint_of(silent).every, std::chrono::seconds(600));
    EXPECT_EQ(checkpoint_of(silent).every_epochs, 0);
    EXPECT_EQ(checkpoint_of(silent).keep, 2);
  }
  EXPECT_EQ(checkpoint_of({{"checkpoint.every.steps", "7"}}).every, std::chrono::seconds(0));
  EXPECT_EQ(checkpoint_of({{"checkpoint.every.seconds", "0"}}).every, std::chrono::seconds(0));
}

TEST(ParseJobTest, EffectiveDocumentHasOverridesAndDefaults) {
  const Result<ParsedJob> first = ParseJob(
      "job.yaml", kExampleJob, {{"storage.s3.endpoint", "http://127.0.0.1:9000"}, {"training.model.uri", "model.bin"}});
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const auto spec = nlohmann::json::parse(first->effective_json)["spec"];
  EXPECT_EQ(spec["storage"]["s3"]["endpoint"], "http://127.0.0.1:9000");
  EXPECT_EQ(spec["training"]["model"]["uri"], "model.bin");
  EXPECT_EQ(spec["checkpoint"]["every"]["seconds"], 600);
  EXPECT_EQ(spec["checkpoint"]["keep"], 2);
  EXPECT_EQ(spec["tls"]["mode"], "Disabled");
  const Result<ParsedJob> second = ParseJob("job.json", first->effective_json, {});
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(second->effective_json, first->effective_json);
}

TEST(ParseJobTest, OnAClusterNothingIsIgnoredAndAllDefaultsAreFilledIn) {
  const Result<ParsedJob> laptop = ParseJob("job.yaml", kExampleJob, {});
  const Result<ParsedJob> cluster = ParseJob("", kExampleJob, {}, RunsOn::kCluster);

  ASSERT_TRUE(laptop.ok() && cluster.ok()) << cluster.status().ToString();
  EXPECT_THAT(cluster->ignored, IsEmpty());
  const auto spec = nlohmann::json::parse(cluster->effective_json)["spec"];
  EXPECT_EQ(spec["runPolicy"]["forceDeleteAfterSeconds"], 30);
  EXPECT_EQ(spec["servers"]["cacheMedium"], "Disk");
  const auto on_laptop = nlohmann::json::parse(laptop->effective_json)["spec"];
  EXPECT_FALSE(on_laptop["runPolicy"].contains("forceDeleteAfterSeconds"));
  EXPECT_FALSE(on_laptop["servers"].contains("cacheMedium"));
}

TEST(ParseJobTest, TlsIsDefaultOnClusters) {
  const auto tls_of = [](RunsOn runs_on, const Overrides& overrides) {
    const Result<ParsedJob> parsed = ParseJob("", kExampleJob, overrides, runs_on);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    return parsed.ok() ? parsed->training.tls : TlsMode::kSecretRef;
  };
  EXPECT_EQ(tls_of(RunsOn::kLaptop, {}), TlsMode::kDisabled);
  EXPECT_EQ(tls_of(RunsOn::kCluster, {}), TlsMode::kManaged);
  EXPECT_EQ(tls_of(RunsOn::kHosts, {}), TlsMode::kManaged);
  EXPECT_EQ(tls_of(RunsOn::kHosts, {{"tls.mode", "Disabled"}}), TlsMode::kDisabled);
  EXPECT_EQ(tls_of(RunsOn::kCluster, {{"tls", "{}"}}), TlsMode::kManaged);
  EXPECT_EQ(tls_of(RunsOn::kCluster, {{"tls.mode", "Disabled"}}), TlsMode::kDisabled);
  EXPECT_EQ(tls_of(RunsOn::kLaptop, {{"tls.mode", "Managed"}}), TlsMode::kManaged);
}

TEST(ParseJobTest, DocumentWithoutFileHasViolationsWithoutPositions) {
  const Result<ParsedJob> parsed =
      ParseJob("", ExampleWith("epochs: 50", "epochs: many\n    wrong: 1"), {}, RunsOn::kCluster);

  EXPECT_EQ(parsed.status().message(),
            "spec.training.epochs: expected an integer from 0 to 1000000, found 'many'\n"
            "spec.training.'wrong': unknown field");
}

TEST(ParseJobTest, RefusesDuplicateListKeys) {
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.env", "[{name: A, value: x}, {name: A, value: z}]"}}),
              HasSubstr("spec.trainers.env[1]: a second entry for 'A'"));
  EXPECT_THAT(ErrorOf(ExampleWith("{fanout: 10}", "{edgeTypes: [{type: r, fanout: 1}, {type: r, fanout: 2}]}")),
              HasSubstr("spec.training.sampling.layers[1].edgeTypes[1]: a second entry for 'r'"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"servers.env", "[{name: A, value: x, valueFrom: {fieldRef: {}}}]"}}),
              HasSubstr("spec.servers.env[0]: has both value and valueFrom"));
}

TEST(ParseJobTest, ServersHavePlugins) {
  const Result<ParsedJob> parsed = ParseJob(
      "job.yaml", kExampleJob, {{"servers.plugins", "[{name: degrees, path: a b.so}, {name: b, path: /opt/b.so}]"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  ASSERT_EQ(parsed->training.server_plugins.size(), 2u);
  EXPECT_EQ(parsed->training.server_plugins[0].name, "degrees");
  EXPECT_EQ(parsed->training.server_plugins[0].path, "a b.so");
  EXPECT_EQ(parsed->training.server_plugins[1].path, "/opt/b.so");
  const auto error_of = [](const std::string& plugins) { return ErrorOf(kExampleJob, {{"servers.plugins", plugins}}); };
  EXPECT_THAT(error_of("[{name: a, path: x}, {name: a, path: y}]"),
              HasSubstr("spec.servers.plugins[1]: a second entry for 'a'"));
  EXPECT_THAT(error_of("[{name: a/b, path: x}]"), HasSubstr("spec.servers.plugins[0].name: expected a name"));
  EXPECT_THAT(error_of("[{name: a}]"), HasSubstr("spec.servers.plugins[0].path: is missing"));
  EXPECT_THAT(error_of("[{name: a, path: \"\"}]"), HasSubstr("spec.servers.plugins[0].path: expected the path"));
  EXPECT_THAT(error_of("[{name: a, path: \"x,y\"}]"), HasSubstr("spec.servers.plugins[0].path: contains a comma"));
}

TEST(ParseJobTest, FreeObjectsAreObjects) {
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.template", "[1]"}}),
              HasSubstr("spec.trainers.template: expected an object, found a list"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"servers.env", "[{name: A, valueFrom: x}]"}}),
              HasSubstr("spec.servers.env[0].valueFrom: expected an object, found 'x'"));
}

TEST(ParseJobTest, SkipsAByteOrderMark) {
  const Result<ParsedJob> job = ParseJob("job.yaml", "\xEF\xBB\xBF" + std::string(kExampleJob), {});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->effective_json, ParseJob("job.yaml", kExampleJob, {})->effective_json);
  EXPECT_THAT(ErrorOf("\xEF\xBB\xBF" + ExampleWith("kind: DistTraining", "kind: Pod")), HasSubstr("job.yaml:2:"));
}

TEST(ParseJobTest, ReadsTheDeviceOfTrainers) {
  EXPECT_EQ(ParseJob("job.yaml", kExampleJob, {})->training.trainer_device, Device::kCpu);
  const Result<ParsedJob> job = ParseJob("job.yaml", kExampleJob, {{"trainers.device", "CUDA"}});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->training.trainer_device, Device::kCuda);
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.device", "GPU"}}), HasSubstr("spec.trainers.device: "));
}

TEST(ParseJobTest, ReadsTheCacheOfFeatures) {
  EXPECT_FALSE(ParseJob("job.yaml", kExampleJob, {})->training.feature_cache.has_value());
  const Result<ParsedJob> job = ParseJob("job.yaml", kExampleJob, {{"trainers.featureCache", "{memory: 2Gi}"}});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(job->training.feature_cache.has_value());
  EXPECT_EQ(job->training.feature_cache->memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(job->training.feature_cache->steps, 32u);
  EXPECT_EQ(job->training.feature_cache->shared_memory_bytes, 0u);
  // The effective document is read again by the processes of the job.
  const Result<ParsedJob> again = ParseJob("job.json", job->effective_json, {});
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->training.feature_cache->memory_bytes, uint64_t{2} << 30);
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.featureCache", "{memory: 1.5Gi}"}}),
              HasSubstr("spec.trainers.featureCache.memory: expected a size in bytes (512Mi, 2Gi), found '1.5Gi'"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.featureCache", "{steps: 4}"}}),
              HasSubstr("spec.trainers.featureCache.memory: is missing: expected a size in bytes (512Mi, 2Gi)"));
  const Result<ParsedJob> shared =
      ParseJob("job.yaml", kExampleJob, {{"trainers.featureCache", "{memory: 2Gi, sharedMemory: 3Gi}"}});
  ASSERT_TRUE(shared.ok()) << shared.status().ToString();
  EXPECT_EQ(shared->training.feature_cache->shared_memory_bytes, uint64_t{3} << 30);
  EXPECT_EQ(ParseJob("job.json", shared->effective_json, {})->training.feature_cache->shared_memory_bytes,
            uint64_t{3} << 30);
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.featureCache", "{memory: 2Gi, steps: 0}"}}),
              HasSubstr("spec.trainers.featureCache.steps: expected an integer from 1 to 1000, found '0'"));
}

TEST(ParseJobTest, ChecksFieldsUsedOnlyOnClusters) {
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
              HasSubstr("some YAML parsers read a plain on as a boolean"));
}

TEST(ParseJobTest, ChecksRulesBetweenFields) {
  EXPECT_THAT(ErrorOf(ExampleWith("algorithm: METIS", "algorithm: External")), HasSubstr("External needs"));
  EXPECT_THAT(ErrorOf(ExampleWith("metric: Accuracy", "metric: MeanSquaredError")),
              HasSubstr("spec.training.evaluation.metric: expected Accuracy | MacroF1 | MicroF1 | ROCAUC for "
                        "classifications, found MeanSquaredError"));
  EXPECT_THAT(ErrorOf(ExampleWith("{fanout: 10}", "{}")), HasSubstr("layers[1]: expected fanout, edgeTypes or both"));
  EXPECT_THAT(ErrorOf(ExampleWith("{fanout: 10}", "{fanout: 0}")), HasSubstr("samples no neighbors"));
  EXPECT_THAT(ErrorOf(ExampleWith("epochs: 50", "epochs: 0")),
              HasSubstr("spec.training.epochs: 0 epochs apply an existing model: set spec.training.model.uri"));
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
              HasSubstr("spec.checkpoint.resumeFrom: 0 epochs apply the parameters in the module's file: omit it"));
  EXPECT_THAT(ErrorOf(ExampleWith("- features: [node-feat]", "- features: [a]\n    - features: [b]")),
              HasSubstr("spec.training.inputs[1]: nodeType may be omitted only if there is one entry"));
}

TEST(ParseJobTest, NamesMissingFields) {
  EXPECT_THAT(ErrorOf(ExampleWith("      split: public\n", "")),
              HasSubstr("job.yaml:12:7: spec.training.task.split: is missing: expected a name"));
  EXPECT_THAT(ErrorOf("spec: {}"), HasSubstr("apiVersion: is missing: expected espalier.io/v1alpha1"));
  EXPECT_THAT(ErrorOf(ExampleWith("kind: DistTraining", "kind: Deployment")), HasSubstr("expected DistTraining"));
  EXPECT_THAT(ErrorOf(ExampleWith("name: cora", "name: Cora")), HasSubstr("lower-case letters"));
}

TEST(ParseJobOverridesTest, ReplaceAddAndUnsetFields) {
  const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob,
                                            {{"spec.training.epochs", "3"},
                                             {"training.seed", "7"},
                                             {"training.sampling.layers[1].fanout", "5"},
                                             {"training.inputs[0].features", "[a, b]"},
                                             {"samplers.replicas", "3"},
                                             {"metadata.name", "other"},
                                             {"training.evaluation.earlyStopping", ""}});

  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->training.training.epochs, 3);
  EXPECT_EQ(parsed->training.training.seed, 7u);
  EXPECT_EQ(parsed->training.training.sampling.layers[1].fanout, 5);
  EXPECT_THAT(parsed->training.training.inputs[0].features, ElementsAre("a", "b"));
  EXPECT_EQ(parsed->training.sampler_replicas, 3u);
  EXPECT_EQ(parsed->training.name, "other");
  EXPECT_EQ(parsed->training.training.evaluation.patience, 0);
}

TEST(ParseJobOverridesTest, ErrorsNameTheOption) {
  EXPECT_EQ(ErrorOf(kExampleJob, {{"training.epochs", "many"}}),
            "--set training.epochs: spec.training.epochs: expected an integer from 0 to 1000000, found 'many'");
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.epoch", "3"}}),
              HasSubstr("--set training.epoch: spec.training.'epoch': unknown field (did you mean 'epochs'?)"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.epochs.x", "3"}}), HasSubstr("no object that could hold 'x'"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.inputs[7].features", "[x]"}}), HasSubstr("the list has no item 7"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"a..b", "3"}}), HasSubstr("not a path"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"training.epochs", "[3"}}),
              HasSubstr("--set training.epochs: expected a field's name"));
}

TEST(ParseJobUntrustedTest, RefusesBadYamlWithPosition) {
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

TEST(ParseJobUntrustedTest, BoundsSizeDepthAndAliases) {
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
  EXPECT_THAT(ErrorOf(laughs), HasSubstr("aliases"));
  std::string long_text = "a: &a " + std::string(500'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 1000; ++i) long_text += ", *a";
  EXPECT_THAT(ErrorOf(long_text + "]\n"), HasSubstr("aliases expand to more text"));
  EXPECT_THAT(ErrorOf("a: &a [*a]"), HasSubstr("job.yaml:1:"));
}

TEST(ParseJobUntrustedTest, RefusesBytesThatAreNotUtf8) {
  EXPECT_THAT(ErrorOf(ExampleWith("name: cora", "name: co\xffra")), HasSubstr("bytes that are not UTF-8"));
  EXPECT_THAT(ErrorOf("sp\xc3(c: {}\n"), HasSubstr("job.yaml:1:1: bytes that are not UTF-8"));
}

TEST(ParseJobUntrustedTest, FollowsAliases) {
  const std::string text =
      ExampleWith("requests: {cpu: 100m, memory: 256Mi}", "requests: &r {cpu: 100m, memory: 256Mi}");
  std::string aliased = text;
  aliased.replace(aliased.find("requests: {cpu: 250m, memory: 512Mi}"), 36, "requests: *r");

  const Result<ParsedJob> parsed = ParseJob("job.yaml", aliased, {});

  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_THAT(parsed->effective_json, Not(HasSubstr("250m")));
}

}  // namespace
}  // namespace espalier::job
