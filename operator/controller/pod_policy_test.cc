// Tries each way in which a document can name an account, an image or a Secret, on the finished templates.
#include "operator/controller/pod_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/dry_run.h"
#include "operator/controller/testing/one_job.h"

namespace espalier::ctl::controller {
namespace {

using kube::Json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Refusal = plan::Observed::DryRun::Refusal;

constexpr char kLabel[] = "example.org/use=trainings";

struct Way {
  const char* path;  // in the document
  Json spec;         // with NAME in place of the name
};

Json Named(const Json& spec, const std::string& name) {
  std::string text = spec.dump();
  const std::string quoted = "\"NAME\"";
  for (size_t at = 0; (at = text.find(quoted, at)) != std::string::npos;) {
    text.replace(at, quoted.size(), "\"" + name + "\"");
  }
  return *kube::ParseJson(text);
}

Json Parsed(const char* text) { return *kube::ParseJson(text); }

// Returns the dry run's answer for a document with `spec` merged into it.
plan::Observed::DryRun Tried(const Json& spec, const PodPolicy& policy) {
  OneJob job(spec);
  for (const char* name : {"db", "marked", "other"}) {
    const std::string use = std::string(name) == "marked" ? "trainings" : "other";
    Json labels = Json::object();
    if (std::string(name) != "db") labels["example.org/use"] = use;
    job.PutObject(kube::kSecrets, name, /*is_ours=*/false, {{"metadata", {{"labels", labels}}}});
  }
  const api::DistTraining training = job.Training();
  EXPECT_TRUE(training.spec.has_value()) << training.violations;
  const plan::Plan plan =
      plan::MakePlan(training, {}, {.core_image = "espalier/core:1", .trainer_image = "espalier/trainer:1"}, job.now);
  for (const plan::Action& action : plan.actions) {
    const auto* templates = std::get_if<plan::DryRunTemplates>(&action);
    if (templates == nullptr) continue;
    const Result<plan::Observed::DryRun> answer = DryRun(job.client, *templates, training, "test", policy);
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    return answer.ok() ? *answer : plan::Observed::DryRun();
  }
  ADD_FAILURE() << "no templates are tried";
  return {};
}

void ExpectRefused(const Way& way, const std::string& name, const PodPolicy& policy) {
  const plan::Observed::DryRun answer = Tried(Named(way.spec, name), policy);
  EXPECT_EQ(answer.refusal, Refusal::kPodRules) << way.path << ", " << name;
  EXPECT_THAT(answer.error, StartsWith(std::string(way.path) + ": ")) << name;
  EXPECT_THAT(answer.error, HasSubstr("'" + name + "'"));
}

void ExpectTaken(const Way& way, const std::string& name, const PodPolicy& policy) {
  const plan::Observed::DryRun answer = Tried(Named(way.spec, name), policy);
  EXPECT_EQ(answer.refusal, Refusal::kNone) << way.path << ", " << name << ": " << answer.error;
}

std::vector<Way> SecretReferences() {
  return {
      {"spec.storage.s3.credentials.secretName",
       Parsed(R"({"storage": {"s3": {"credentials": {"secretName": "NAME"}}}})")},
      {"spec.tls.secretName", Parsed(R"({"tls": {"mode": "SecretRef", "secretName": "NAME"}})")},
      {"spec.trainers.env[0].valueFrom.secretKeyRef.name",
       Parsed(
           R"({"trainers": {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "NAME", "key": "x"}}}]}})")},
      {"spec.servers.template.spec.containers[0].env[0].valueFrom.secretKeyRef.name",
       Parsed(R"({"servers": {"template": {"spec": {"containers": [{"name": "server", "env": [
                  {"name": "X", "valueFrom": {"secretKeyRef": {"name": "NAME", "key": "x"}}}]}]}}}})")},
      {"spec.trainers.template.spec.containers[0].envFrom[0].secretRef.name",
       Parsed(R"({"trainers": {"template": {"spec": {"containers": [{"name": "trainer", "envFrom": [
                  {"secretRef": {"name": "NAME"}}]}]}}}})")},
      {"spec.partitioner.template.spec.initContainers[0].envFrom[0].secretRef.name",
       Parsed(R"({"partitioner": {"template": {"spec": {"initContainers": [{"name": "first", "image": "i", "envFrom": [
                  {"secretRef": {"name": "NAME"}}]}]}}}})")},
      {"spec.trainers.template.spec.ephemeralContainers[0].envFrom[0].secretRef.name",
       Parsed(R"({"trainers": {"template": {"spec": {"ephemeralContainers": [{"name": "look", "image": "i", "envFrom": [
                  {"secretRef": {"name": "NAME"}}]}]}}}})")},
      {"spec.samplers.template.spec.volumes[0].secret.secretName",
       Parsed(R"({"samplers": {"replicas": 1, "template": {"spec": {"volumes": [
                  {"name": "v", "secret": {"secretName": "NAME"}}]}}}})")},
      {"spec.trainers.template.spec.volumes[0].projected.sources[1].secret.name",
       Parsed(R"({"trainers": {"template": {"spec": {"volumes": [{"name": "v", "projected": {"sources": [
                  {"configMap": {"name": "fine"}}, {"secret": {"name": "NAME"}}]}}]}}}})")},
      {"spec.trainers.template.spec.volumes[0].csi.nodePublishSecretRef.name",
       Parsed(R"({"trainers": {"template": {"spec": {"volumes": [{"name": "v", "csi": {"driver": "d",
                  "nodePublishSecretRef": {"name": "NAME"}}}]}}}})")},
      {"spec.trainers.template.spec.volumes[0].csi.volumeAttributes.secretName",
       Parsed(R"({"trainers": {"template": {"spec": {"volumes": [{"name": "v", "csi": {"driver": "d",
                  "volumeAttributes": {"secretName": "NAME"}}}]}}}})")},
      {"spec.trainers.template.spec.volumes[0].cephfs.secretRef.name",
       Parsed(R"({"trainers": {"template": {"spec": {"volumes": [{"name": "v", "cephfs": {"monitors": ["m"],
                  "secretRef": {"name": "NAME"}}}]}}}})")},
      {"spec.trainers.template.spec.imagePullSecrets[0].name",
       Parsed(R"({"trainers": {"template": {"spec": {"imagePullSecrets": [{"name": "NAME"}]}}}})")},
  };
}

TEST(PodPolicyTest, RefusesSecretsWithoutLabel) {
  for (const Way& way : SecretReferences()) {
    for (const char* name : {"db", "other", "not-there", "Not/a name"}) {
      const bool is_checked_before = std::string(way.path).find("template") == std::string::npos;
      if (is_checked_before && std::string(name) == "Not/a name") continue;  // no valid document
      ExpectRefused(way, name, {.secret_label = kLabel});
    }
    ExpectTaken(way, "marked", {.secret_label = kLabel});
    ExpectTaken(way, "db", {});
  }
}

TEST(PodPolicyTest, LabelWithoutValueMatchesAnyValue) {
  const Way way = SecretReferences().front();
  ExpectTaken(way, "other", {.secret_label = "example.org/use"});
  ExpectRefused(way, "db", {.secret_label = "example.org/use"});
}

TEST(PodPolicyTest, RefusesOtherImages) {
  const PodPolicy policy{.images = std::vector<std::string>{"r.example/ml"}};
  const std::vector<Way> ways = {
      {"spec.trainers.image", Parsed(R"({"trainers": {"image": "NAME"}})")},
      {"spec.servers.image", Parsed(R"({"servers": {"image": "NAME"}})")},
      {"spec.samplers.image", Parsed(R"({"samplers": {"replicas": 0, "image": "NAME"}})")},
      {"spec.trainers.template.spec.containers[0].image",
       Parsed(R"({"trainers": {"template": {"spec": {"containers": [{"name": "beside", "image": "NAME"}]}}}})")},
      {"spec.partitioner.template.spec.initContainers[0].image",
       Parsed(R"({"partitioner": {"template": {"spec": {"initContainers": [{"name": "first", "image": "NAME"}]}}}})")},
      {"spec.trainers.template.spec.volumes[0].image.reference",
       Parsed(
           R"({"trainers": {"template": {"spec": {"volumes": [{"name": "v", "image": {"reference": "NAME"}}]}}}})")}};
  for (const Way& way : ways) {
    for (const char* name : {"evil/x", "r.example/ml-evil/x", "r.example/mlx", "r.example/ml:5000/evil"}) {
      ExpectRefused(way, name, policy);
    }
    for (const char* name : {"r.example/ml/x:1", "r.example/ml:1", "r.example/ml@sha256:00"}) {
      ExpectTaken(way, name, policy);
    }
    ExpectRefused(way, "r.example/ml/x", {.images = std::vector<std::string>()});
  }
}

// A port is part of the registry's name.
TEST(PodPolicyTest, PortIsPartOfRegistry) {
  const PodPolicy policy{.images = std::vector<std::string>{"r.example"}};
  EXPECT_TRUE(AllowsImage(policy, "r.example/x:1"));
  EXPECT_FALSE(AllowsImage(policy, "r.example:5000/x"));
  EXPECT_FALSE(AllowsImage(policy, "r.example.org/x"));
}

TEST(PodPolicyTest, RefusesOtherServiceAccounts) {
  const PodPolicy policy{.service_accounts = std::vector<std::string>{"reader"}};
  const std::vector<Way> ways = {
      {"spec.trainers.serviceAccountName", Parsed(R"({"trainers": {"serviceAccountName": "NAME"}})")},
      {"spec.partitioner.serviceAccountName", Parsed(R"({"partitioner": {"serviceAccountName": "NAME"}})")},
      {"spec.servers.template.spec.serviceAccountName",
       Parsed(R"({"servers": {"template": {"spec": {"serviceAccountName": "NAME"}}}})")},
      {"spec.trainers.template.spec.serviceAccount",
       Parsed(R"({"trainers": {"template": {"spec": {"serviceAccount": "NAME"}}}})")}};
  for (const Way& way : ways) {
    ExpectRefused(way, "deployer", policy);
    ExpectTaken(way, "reader", policy);
  }
}

TEST(PodPolicyTest, AllowsFieldsAddedByOperator) {
  const PodPolicy strict{
      .service_accounts = std::vector<std::string>(), .images = std::vector<std::string>(), .secret_label = kLabel};
  for (const char* tls : {"Managed", "Disabled"}) {
    const plan::Observed::DryRun answer = Tried({{"tls", {{"mode", tls}}}, {"samplers", {{"replicas", 1}}}}, strict);
    EXPECT_EQ(answer.refusal, Refusal::kNone) << answer.error;
  }
}

TEST(PodPolicyTest, ReportsAllViolations) {
  const PodPolicy strict{.service_accounts = std::vector<std::string>(), .images = std::vector<std::string>()};
  const plan::Observed::DryRun answer = Tried(
      {{"trainers", {{"serviceAccountName", "deployer"}, {"image", "evil/x"}}}, {"servers", {{"image", "evil/y"}}}},
      strict);
  for (const char* line : {"spec.trainers.serviceAccountName: ", "spec.trainers.image: ", "spec.servers.image: "}) {
    EXPECT_THAT(answer.error, HasSubstr(line));
  }
}

// A refusal does not disclose which Secrets exist.
TEST(PodPolicyTest, RefusalDoesNotRevealWhetherSecretExists) {
  const Way way = SecretReferences().front();
  std::string there = Tried(Named(way.spec, "db"), {.secret_label = kLabel}).error;
  const std::string absent = Tried(Named(way.spec, "ab"), {.secret_label = kLabel}).error;
  there.replace(there.find("db"), 2, "ab");
  EXPECT_EQ(there, absent);
}

}  // namespace
}  // namespace espalier::ctl::controller
