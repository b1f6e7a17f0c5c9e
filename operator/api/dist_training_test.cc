#include "operator/api/dist_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/testing/cluster_document.h"

namespace espalier::ctl::api {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

DistTraining Parsed(const kube::Json& object) {
  Result<DistTraining> training = ParseDistTraining(object);
  EXPECT_TRUE(training.ok()) << training.status().ToString();
  return training.ok() ? *std::move(training) : DistTraining{};
}

TEST(ParseDistTrainingTest, FillsInTheDefaultsOfACluster) {
  const DistTraining training = Parsed(ClusterDocument());

  ASSERT_TRUE(training.spec.has_value()) << training.violations;
  EXPECT_EQ(training.meta.key.name, "cora");
  EXPECT_EQ(training.spec->job.training.batch_size, 1024);
  EXPECT_EQ(training.spec->tls, TlsMode::kManaged);
  EXPECT_EQ(training.spec->job.tls, job::TlsMode::kManaged);
  EXPECT_EQ(training.spec->document["spec"]["tls"]["mode"], "Managed");
  EXPECT_EQ(training.spec->run_policy, RunPolicy{});
  for (const Role role : kRoles) EXPECT_EQ(training.spec->role(role), RoleSpec{}) << ToString(role);
}

TEST(ParseDistTrainingTest, ReadsFieldsOfClusters) {
  kube::Json object = ClusterDocument();
  object["spec"]["runPolicy"] = {{"suspend", true},
                                 {"backoffLimit", 0},
                                 {"cleanPodPolicy", "All"},
                                 {"activeDeadlineSeconds", 60},
                                 {"ttlSecondsAfterFinished", 0},
                                 {"managedBy", "kueue.x-k8s.io/multikueue"},
                                 {"forceDeleteAfterSeconds", 5}};
  object["spec"]["tls"] = {{"mode", "SecretRef"}, {"secretName", "cora-tls"}};
  object["spec"]["servers"] = {{"cacheMedium", "Memory"},
                               {"image", "example.com/core:1"},
                               {"resources", {{"limits", {{"memory", "1Gi"}}}}},
                               {"env", {{{"name", "A"}, {"value", "1"}}}},
                               {"nodeSelector", {{"zone", "a"}}},
                               {"tolerations", {{{"key", "gpu"}, {"operator", "Exists"}}}},
                               {"serviceAccountName", "reader"},
                               {"template", {{"spec", {{"priorityClassName", "batch"}}}}}};

  const DistTraining training = Parsed(object);

  ASSERT_TRUE(training.spec.has_value()) << training.violations;
  EXPECT_EQ(training.spec->run_policy, (RunPolicy{true, 0, CleanPodPolicy::kAll, seconds(60), seconds(0),
                                                  "kueue.x-k8s.io/multikueue", seconds(5)}));
  EXPECT_EQ(training.spec->tls, TlsMode::kSecretRef);
  EXPECT_EQ(training.spec->tls_secret, "cora-tls");
  const RoleSpec& servers = training.spec->role(Role::kServer);
  EXPECT_TRUE(servers.cache_in_memory);
  EXPECT_EQ(servers.image, "example.com/core:1");
  EXPECT_EQ(servers.resources["limits"]["memory"], "1Gi");
  EXPECT_EQ(servers.env[0]["value"], "1");
  EXPECT_EQ(servers.node_selector["zone"], "a");
  EXPECT_EQ(servers.tolerations[0]["key"], "gpu");
  EXPECT_EQ(servers.service_account_name, "reader");
  EXPECT_EQ(servers.pod_template["spec"]["priorityClassName"], "batch");
  EXPECT_EQ(training.spec->role(Role::kTrainer), RoleSpec{});
}

TEST(ParseDistTrainingTest, PodsAreGangByDefault) {
  kube::Json object = ClusterDocument();
  EXPECT_TRUE(Parsed(object).spec->gangs);
  object["spec"]["scheduling"] = {{"gang", "Auto"}};
  EXPECT_TRUE(Parsed(object).spec->gangs);
  object["spec"]["scheduling"] = {{"gang", "Never"}};
  EXPECT_FALSE(Parsed(object).spec->gangs);
  object["spec"]["scheduling"] = {{"gang", "Off"}};
  const DistTraining wrong = Parsed(object);
  EXPECT_FALSE(wrong.spec.has_value());
  EXPECT_THAT(wrong.violations, HasSubstr("spec.scheduling.gang"));
}

TEST(ParseDistTrainingTest, RoleDocumentParsesToSameValue) {
  const DistTraining training = Parsed(ClusterDocument());
  kube::Json again = training.spec->document;
  again["metadata"]["namespace"] = "ml";

  const DistTraining second = Parsed(again);

  ASSERT_TRUE(second.spec.has_value()) << second.violations;
  EXPECT_EQ(second.spec->document, training.spec->document);
}

TEST(ParseDistTrainingTest, AcceptsFieldsAddedByApiServer) {
  kube::Json object = ClusterDocument();
  object["metadata"].update({{"generation", 2},
                             {"resourceVersion", "17"},
                             {"creationTimestamp", "2026-01-02T03:04:05Z"},
                             {"labels", {{"a", "no"}}},
                             {"managedFields", {{{"manager", "kubectl"}, {"fieldsV1", {{"f:spec", {{".", {}}}}}}}}},
                             {"ownerReferences", kube::Json::array()}});
  object["status"] = {{"incarnation", 3}, {"phase", "Training"}};

  const DistTraining training = Parsed(object);

  EXPECT_TRUE(training.spec.has_value()) << training.violations;
  EXPECT_EQ(training.status.incarnation, 3);
  EXPECT_EQ(training.meta.generation, 2);
}

TEST(ParseDistTrainingTest, ParsingIsRepeatable) {
  kube::Json object = ClusterDocument();
  const DistTraining before = Parsed(object);
  object["metadata"]["generation"] = 2;
  object["status"] = {{"incarnation", 3}};
  kube::Json changed = object, invalid = object, renamed = object;
  changed["spec"]["training"]["epochs"] = 7;
  invalid["spec"]["training"]["epochs"] = -1;
  renamed["metadata"]["name"] = "citeseer";

  for (const kube::Json& document : {object, changed, invalid, renamed}) {
    const DistTraining alone = Parsed(document);
    for (const DistTraining& earlier : {before, Parsed(invalid)}) {
      const Result<DistTraining> again = ParseDistTraining(document, earlier);
      ASSERT_TRUE(again.ok()) << again.status().ToString();
      EXPECT_EQ(again->meta, alone.meta);
      EXPECT_EQ(again->status.incarnation, 3);
      EXPECT_EQ(again->raw_spec, alone.raw_spec);
      EXPECT_EQ(again->violations, alone.violations);
      ASSERT_EQ(again->spec.has_value(), alone.spec.has_value());
      if (!alone.spec) continue;
      EXPECT_EQ(again->spec->document, alone.spec->document);
      EXPECT_EQ(again->spec->roles, alone.spec->roles);
    }
  }
}

TEST(ParseDistTrainingTest, ViolationsNameFieldsWithoutPositions) {
  kube::Json object = ClusterDocument();
  object["spec"]["training"]["epochs"] = -1;
  object["spec"]["trainers"] = {{"replicsa", 2}};

  const DistTraining training = Parsed(object);

  EXPECT_FALSE(training.spec.has_value());
  EXPECT_EQ(training.violations,
            "spec.trainers.'replicsa': unknown field (did you mean 'replicas'?)\n"
            "spec.training.epochs: expected an integer from 0 to 1000000, found '-1'");
  EXPECT_EQ(training.raw_spec, object["spec"]);
}

TEST(ParseDistTrainingTest, RefusesNamesTooLongForChildObjects) {
  kube::Json object = ClusterDocument();
  object["metadata"]["name"] = std::string(41, 'a');
  EXPECT_THAT(Parsed(object).violations, HasSubstr("metadata.name: expected a name of at most 40 lower-case letters"));
}

TEST(ParseDistTrainingTest, TemplatesAreUnchanged) {
  kube::Json object = ClusterDocument();
  const kube::Json odd = {{"text", "no"},
                          {"number-like", "1_000"},
                          {"quotes", "a \"b\" 'c' \\ # : {x} [y] & * ! | > % @ `"},
                          {"control", std::string("\t\n\r\x01\x1f\x7f", 6)},
                          {"letters", "\xc3\xa9\xe2\x80\xa8\xf0\x9f\x8c\xb1\xef\xbb\xbf"},
                          {"empty", ""},
                          {"nothing", nullptr},
                          {"list", {1, -2.5, 1e-9, 9223372036854775807, true, nullptr, kube::Json::object()}},
                          {"long", std::string(5000, 'x')},
                          {"a key: with, {signs}", "  spaces  "}};
  object["spec"]["trainers"]["template"]["metadata"]["annotations"] = odd;

  const DistTraining training = Parsed(object);

  ASSERT_TRUE(training.spec.has_value()) << training.violations;
  EXPECT_EQ(training.spec->role(Role::kTrainer).pod_template["metadata"]["annotations"], odd);
}

TEST(ParseDistTrainingTest, JobIsOursUnlessManagedByAnother) {
  const auto is_ours = [](const char* spec) { return IsManagedByEspalier(*kube::ParseJson(spec)); };
  EXPECT_TRUE(is_ours("{}"));
  EXPECT_TRUE(is_ours("null"));
  EXPECT_TRUE(is_ours(R"({"runPolicy": {"managedBy": ""}})"));
  EXPECT_TRUE(is_ours(R"({"runPolicy": {"managedBy": "espalier.io/operator"}})"));
  EXPECT_FALSE(is_ours(R"({"runPolicy": {"managedBy": "example.com/queue"}})"));
}

TEST(ParseDistTrainingTest, OnlyOtherKindsAreErrors) {
  for (const char* text :
       {"[]", "null", "{}", R"({"metadata": {"name": "a"}})", R"({"metadata": {"name": 3}})",
        R"({"metadata": {"name": "a"}, "spec": []})", R"({"kind": "Pod", "metadata": {"name": "a"}, "spec": {}})"}) {
    EXPECT_EQ(ParseDistTraining(*kube::ParseJson(text)).status().code(), StatusCode::kInvalidArgument) << text;
  }
  const DistTraining empty = Parsed(*kube::ParseJson(R"({"metadata": {"name": "a"}, "spec": {}})"));
  EXPECT_THAT(empty.violations, HasSubstr("spec.graph: is missing"));
}

}  // namespace
}  // namespace espalier::ctl::api
