// Parsing of valid documents: fields, defaults, overrides and the effective document.
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
  const Result<ParsedJob> cluster = ParseJob("", kExampleJob, {}, ReadBy::kOperator);

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
  const auto tls_of = [](ReadBy read_by, const Overrides& overrides) {
    const Result<ParsedJob> parsed = ParseJob("", kExampleJob, overrides, read_by);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    return parsed.ok() ? parsed->training.tls : TlsMode::kSecretRef;
  };
  EXPECT_EQ(tls_of(ReadBy::kRunOrRole, {}), TlsMode::kDisabled);
  EXPECT_EQ(tls_of(ReadBy::kOperator, {}), TlsMode::kManaged);
  EXPECT_EQ(tls_of(ReadBy::kLaunch, {}), TlsMode::kManaged);
  EXPECT_EQ(tls_of(ReadBy::kLaunch, {{"tls.mode", "Disabled"}}), TlsMode::kDisabled);
  EXPECT_EQ(tls_of(ReadBy::kOperator, {{"tls", "{}"}}), TlsMode::kManaged);
  EXPECT_EQ(tls_of(ReadBy::kOperator, {{"tls.mode", "Disabled"}}), TlsMode::kDisabled);
  EXPECT_EQ(tls_of(ReadBy::kRunOrRole, {{"tls.mode", "Managed"}}), TlsMode::kManaged);
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

TEST(ParseJobTest, FollowsAliases) {
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
