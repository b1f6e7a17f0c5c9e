// Tests that an administrator's defaults reach the pods of each role, and their order relative to the document.
#include "operator/resources/job_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/testing/cluster_document.h"
#include "operator/resources/builders.h"
#include "services/base/check.h"

namespace espalier::ctl::resources {
namespace {

using kube::Json;
using ::testing::HasSubstr;

Json FromText(const char* text) { return *kube::ParseJson(text); }

api::DistTraining TrainingWith(const Json& spec, const Json& labels = Json::object()) {
  Json document = api::ClusterDocument();
  document["spec"].merge_patch(spec);
  document["metadata"]["labels"] = labels;
  Result<api::DistTraining> training = api::ParseDistTraining(document);
  ESPALIER_CHECK(training.ok() && training->spec) << training->violations;
  return *std::move(training);
}

Json PodWithDefaults(const api::DistTraining& training, api::Role role, const JobDefaults& defaults) {
  Context context{.training = training, .status = {}};
  context.status.incarnation = context.status.partition_attempt = context.status.trainer_replicas = 1;
  context.status.partition = api::PartitionStatus{.hash = "h", .uri = "s3://b/h"};
  context.defaults = &defaults;
  switch (role) {
    case api::Role::kPartitioner: return PartitionJob(context)["spec"]["template"];
    case api::Role::kServer: return ServerSet(context, 0, false)["spec"]["template"];
    case api::Role::kSampler: return SamplerSet(context, false)["spec"]["template"];
    case api::Role::kTrainer: return TrainerJob(context)["spec"]["template"];
  }
  return {};
}

// Returns the container, or null.
Json ContainerNamed(const Json& pod, const std::string& name) {
  for (const Json& container : pod["spec"]["containers"]) {
    if (container["name"] == name) return container;
  }
  return {};
}

bool HasItem(const Json& list, const Json& item) { return std::find(list.begin(), list.end(), item) != list.end(); }

const char* const kDefaultsOfAll = R"({
  "template": {"spec": {
    "priorityClassName": "batch",
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "imagePullSecrets": [{"name": "registry"}],
    "volumes": [{"name": "ca", "configMap": {"name": "company-ca"}}],
    "containers": [{"name": "program", "env": [{"name": "AWS_CA_BUNDLE", "value": "/ca/ca.crt"}],
                    "volumeMounts": [{"name": "ca", "mountPath": "/ca"}]}]}},
  "trainers": {"template": {"spec": {"containers": [
    {"name": "program", "resources": {"requests": {"cpu": "2"}, "limits": {"memory": "8Gi"}}}]}}}})";

TEST(JobDefaultsTest, ReachThePodsOfEachRole) {
  const JobDefaults defaults = *ParseJobDefaults(FromText(kDefaultsOfAll));
  const api::DistTraining training = TrainingWith({{"samplers", {{"replicas", 1}}}});
  for (const api::Role role : api::kRoles) {
    const Json pod = PodWithDefaults(training, role, defaults);
    EXPECT_EQ(pod["spec"]["priorityClassName"], "batch") << api::ToString(role);
    EXPECT_TRUE(HasItem(pod["spec"]["tolerations"], FromText(R"({"key": "gpu", "operator": "Exists"})")));
    EXPECT_TRUE(HasItem(pod["spec"]["imagePullSecrets"], FromText(R"({"name": "registry"})")));
    const Json container = ContainerNamed(pod, api::ToString(role));
    EXPECT_TRUE(HasItem(container["volumeMounts"], FromText(R"({"name": "ca", "mountPath": "/ca"})")));
    EXPECT_TRUE(HasItem(container["env"], FromText(R"({"name": "AWS_CA_BUNDLE", "value": "/ca/ca.crt"})")));
    EXPECT_TRUE(ContainerNamed(pod, "program").is_null());
    EXPECT_EQ(container.contains("resources"), role == api::Role::kTrainer);
  }
}

TEST(JobDefaultsTest, DocumentOverridesDefaults) {
  const JobDefaults defaults = *ParseJobDefaults(FromText(kDefaultsOfAll));
  const api::DistTraining training = TrainingWith(FromText(R"({"trainers": {
    "resources": {"limits": {"memory": "1Gi"}},
    "tolerations": [{"key": "other", "operator": "Exists"}],
    "template": {"spec": {"priorityClassName": "urgent", "volumes": [{"name": "own", "emptyDir": {}}]}}}})"));
  const Json pod = PodWithDefaults(training, api::Role::kTrainer, defaults);
  EXPECT_EQ(pod["spec"]["priorityClassName"], "urgent");
  EXPECT_EQ(ContainerNamed(pod, "trainer")["resources"],
            FromText(R"({"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}})"));
  for (const char* key : {"gpu", "other"}) {
    EXPECT_TRUE(HasItem(pod["spec"]["tolerations"], Json({{"key", key}, {"operator", "Exists"}}))) << key;
  }
  for (const char* volume : {"ca", "own"}) {
    EXPECT_NE(pod["spec"]["volumes"].dump().find("\"name\":\"" + std::string(volume) + "\""), std::string::npos);
  }
}

TEST(JobDefaultsTest, SidecarFollowsServersOfPod) {
  const JobDefaults defaults =
      *ParseJobDefaults(FromText(R"({"template": {"spec": {"containers": [{"name": "beside", "image": "i"}]}}})"));
  const api::DistTraining training = TrainingWith({{"servers", {{"containersPerPod", 2}}}});
  const Json pod = PodWithDefaults(training, api::Role::kServer, defaults);
  std::vector<std::string> names;
  for (const Json& container : pod["spec"]["containers"]) names.push_back(container["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"server", "server-1", "beside"}));
}

// Users can read the defaults of a job in its ConfigMap.
TEST(JobDefaultsTest, AreInConfigMapOfJob) {
  const api::DistTraining training = TrainingWith(Json::object());
  const JobDefaults defaults = *ParseJobDefaults(FromText(kDefaultsOfAll));
  Context context{.training = training, .status = {}};
  EXPECT_FALSE(ConfigMap(context)["data"].contains("defaults.json"));
  context.defaults = &defaults;
  EXPECT_EQ(*kube::ParseJson(ConfigMap(context)["data"]["defaults.json"].get<std::string>()), FromText(kDefaultsOfAll));
}

TEST(JobDefaultsTest, RefusesInvalidDefaults) {
  const auto problem = [](const char* text) { return ParseJobDefaults(FromText(text)).status().message(); };
  EXPECT_THAT(problem("[]"), HasSubstr("defaults: expected an object"));
  EXPECT_THAT(problem(R"({"trainer": {}})"),
              HasSubstr("defaults.trainer: unknown field; expected template, partitioner"));
  EXPECT_THAT(problem(R"({"template": {"spce": {}}})"), HasSubstr("defaults.template.spce: unknown field"));
  EXPECT_THAT(problem(R"({"trainers": {"template": {"spec": {"volumes": {}}}}})"),
              HasSubstr("defaults.trainers.template.spec.volumes: expected a list"));
  EXPECT_THAT(problem(R"({"template": {"spec": {"containers": [{"image": "i"}]}}})"),
              HasSubstr("a container has no name"));
  EXPECT_TRUE(ParseJobDefaults(Json::object()).ok());
}

// Several programs of a pod have copies of the container, whose variables the operator changes.
TEST(JobDefaultsTest, RefusesWrongTypesInContainers) {
  const auto problem = [](const Json& pod) { return ParseJobDefaults({{"template", pod}}).status().message(); };
  const auto problem_of_container = [&](const char* list, const char* field, const char* value) {
    return problem({{"spec", {{list, Json::array({{{"name", "program"}, {field, FromText(value)}}})}}}});
  };
  EXPECT_EQ(problem_of_container("containers", "env", R"(["FOO"])"),
            "defaults.template.spec.containers[0].env[0]: expected an object");
  EXPECT_EQ(problem_of_container("containers", "env", R"("x")"),
            "defaults.template.spec.containers[0].env: expected a list");
  EXPECT_EQ(problem_of_container("containers", "ports", "{}"),
            "defaults.template.spec.containers[0].ports: expected a list");
  EXPECT_EQ(problem_of_container("initContainers", "volumeMounts", "[{}, 1]"),
            "defaults.template.spec.initContainers[0].volumeMounts[1]: expected an object");
  EXPECT_EQ(problem_of_container("containers", "env", "null"), "");
  EXPECT_EQ(problem({{"spec", {{"containers", {"x"}}}}}), "defaults.template.spec.containers[0]: expected an object");
  EXPECT_EQ(problem({{"metadata", "x"}}), "defaults.template.metadata: expected an object");
  EXPECT_EQ(problem({{"metadata", {{"labels", "x"}}}}), "defaults.template.metadata.labels: expected an object");
}

TEST(JobDefaultsTest, TemplatesOfUsersWithWrongTypesReachThePods) {
  const JobDefaults none;
  for (const char* const container :
       {R"({"name": "server", "env": ["FOO"]})", R"({"name": "server", "env": "x"})",
        R"({"name": "server-1", "env": 1})", R"({"name": "server", "ports": "x", "volumeMounts": "y"})", R"("x")"}) {
    Json spec = {{"servers", {{"containersPerPod", 2}}}};
    spec["servers"]["template"]["spec"]["containers"] = Json::array({FromText(container)});
    const Json pod = PodWithDefaults(TrainingWith(spec), api::Role::kServer, none);
    EXPECT_GE(pod["spec"]["containers"].size(), 2u) << container;
  }
}

TEST(LabelsOfTheResourceTest, ReachChildrenAndPods) {
  const Json labels = FromText(R"({"team": "graphs", "example.org/cost": "7", "espalier.io/job": "other",
    "app.kubernetes.io/name": "theirs", "kueue.x-k8s.io/queue-name": "q", "argocd.argoproj.io/instance": "a",
    "helm.sh/chart": "c", "job-name": "other", "controller-uid": "7"})");
  const JobDefaults none;
  const api::DistTraining training = TrainingWith(
      FromText(R"({"trainers": {"template": {"metadata": {"labels": {"example.org/cost": "8"}}}}})"), labels);
  for (const api::Role role : {api::Role::kServer, api::Role::kTrainer}) {
    const Json pod = PodWithDefaults(training, role, none);
    EXPECT_EQ(pod["metadata"]["labels"]["team"], "graphs");
    EXPECT_EQ(pod["metadata"]["labels"]["example.org/cost"], role == api::Role::kTrainer ? "8" : "7");
    EXPECT_EQ(pod["metadata"]["labels"]["espalier.io/job"], "cora");
    EXPECT_EQ(pod["metadata"]["labels"]["app.kubernetes.io/name"], "espalier");
    for (const char* key :
         {"kueue.x-k8s.io/queue-name", "argocd.argoproj.io/instance", "helm.sh/chart", "job-name", "controller-uid"}) {
      EXPECT_FALSE(pod["metadata"]["labels"].contains(key)) << key;
    }
  }
  Context context{.training = training, .status = {}};
  const Json service = Service(context);
  EXPECT_EQ(service["metadata"]["labels"]["team"], "graphs");
  EXPECT_EQ(service["metadata"]["labels"]["espalier.io/job"], "cora");
  EXPECT_FALSE(service["spec"]["selector"].contains("team"));
  EXPECT_FALSE(ServerSet(context, 0, false)["spec"]["selector"].dump().find("team") != std::string::npos);
}

}  // namespace
}  // namespace espalier::ctl::resources
