// Tests of server-side apply and of the status subresource.
#include "operator/client/testing/api_server_suite.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Json Condition(const std::string& type, const std::string& status) {
  return {{"type", type},
          {"status", status},
          {"reason", "Because"},
          {"message", ""},
          {"lastTransitionTime", "2026-01-02T03:04:05Z"}};
}

std::vector<std::string> Conditions(const Json& object) {
  std::vector<std::string> conditions;
  for (const Json& condition : kube::ListAt(object, {"status", "conditions"})) {
    conditions.push_back(kube::StringAt(condition, {"type"}) + "=" + kube::StringAt(condition, {"status"}));
  }
  return conditions;
}

TEST_P(ApiServerSuite, ApplyCreatesThenMerges) {
  const Json created = Apply(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}}), "m");
  const Json applied = Apply(kube::kConfigMaps, ConfigMap("a", {{"x", "2"}, {"y", "3"}}), "m");

  EXPECT_EQ(UidOf(applied), UidOf(created));
  EXPECT_EQ(*kube::Find(applied, {"data"}), Json({{"x", "2"}, {"y", "3"}}));
}

TEST_P(ApiServerSuite, RepeatedApplyKeepsVersion) {
  const Json once = Apply(kube::kStatefulSets, StatefulSet("s", 1), "m");
  EXPECT_EQ(VersionOf(Apply(kube::kStatefulSets, StatefulSet("s", 1), "m")), VersionOf(once));
}

TEST_P(ApiServerSuite, ApplyRemovesFieldsNoLongerApplied) {
  Json first = ConfigMap("a", {{"x", "1"}, {"y", "2"}});
  first["metadata"]["labels"] = {{"mine", "yes"}};
  Apply(kube::kConfigMaps, first, "m");

  const Json applied = Apply(kube::kConfigMaps, ConfigMap("a", {{"y", "2"}}), "m");

  EXPECT_EQ(*kube::Find(applied, {"data"}), Json({{"y", "2"}}));
  EXPECT_EQ(kube::StringAt(applied, {"metadata", "labels", "mine"}), "");
}

TEST_P(ApiServerSuite, ApplyKeepsFieldsOfOtherManagers) {
  Apply(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}}), "m");
  Must(client_->MergePatch(kube::kConfigMaps, Key("a"), {{"metadata", {{"labels", {{"theirs", "yes"}}}}}}));

  const Json applied = Apply(kube::kConfigMaps, ConfigMap("a", {{"x", "2"}}), "m");

  EXPECT_EQ(kube::StringAt(applied, {"metadata", "labels", "theirs"}), "yes");
}

TEST_P(ApiServerSuite, ApplyKeepsSharedFields) {
  Apply(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}, {"y", "2"}}), "one");
  Apply(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}}), "two");

  const Json applied = Apply(kube::kConfigMaps, ConfigMap("a", {{"y", "2"}}), "one");
  EXPECT_EQ(*kube::Find(applied, {"data"}), Json({{"x", "1"}, {"y", "2"}}));
}

TEST_P(ApiServerSuite, ApplyConflictsWithAnotherManagerUnlessForced) {
  Apply(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}}), "one");

  const Json theirs = ConfigMap("a", {{"x", "2"}});
  const HttpResponse answer =
      Send(kube::ApplyRequest(kube::kConfigMaps, theirs, {.field_manager = "two", .force = false}));
  EXPECT_EQ(answer.code, 409);
  EXPECT_THAT(answer.body, HasSubstr("FieldManagerConflict"));
  EXPECT_THAT(answer.body, HasSubstr(".data.x"));
  EXPECT_EQ(client_->Apply(kube::kConfigMaps, theirs, {.field_manager = "two", .force = false}).status().code(),
            StatusCode::kAborted);

  const Json forced = Apply(kube::kConfigMaps, theirs, "two");
  EXPECT_EQ(kube::StringAt(forced, {"data", "x"}), "2");
  // The field now belongs to the other manager, so the first one cannot remove it.
  const Json without = Apply(kube::kConfigMaps, ConfigMap("a"), "one");
  EXPECT_EQ(kube::StringAt(without, {"data", "x"}), "2");
}

TEST_P(ApiServerSuite, ApplyWithUidDoesNotRecreate) {
  const Json created = Apply(kube::kConfigMaps, ConfigMap("a"), "m");
  EXPECT_TRUE(client_->Delete(kube::kConfigMaps, Key("a"), {.uid = UidOf(created)}).ok());
  Json update = ConfigMap("a");
  update["metadata"]["uid"] = UidOf(created);

  EXPECT_EQ(client_->Apply(kube::kConfigMaps, update, {.field_manager = "m"}).status().code(), StatusCode::kAborted);
  EXPECT_FALSE(Exists(kube::kConfigMaps, "a"));
  // Another object of the same name is not changed either; the error is an immutable field, not a conflict.
  const Json second = Create(kube::kConfigMaps, ConfigMap("a"));
  EXPECT_EQ(client_->Apply(kube::kConfigMaps, update, {.field_manager = "m"}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(VersionOf(Get(kube::kConfigMaps, "a")), VersionOf(second));
}

TEST_P(ApiServerSuite, ApplyChecksResourceVersion) {
  Json object = ConfigMap("a", {{"x", "1"}});
  const Json created = Apply(kube::kConfigMaps, object, "m");
  object["metadata"]["resourceVersion"] = VersionOf(created);
  object["data"]["x"] = "2";
  Apply(kube::kConfigMaps, object, "m");

  object["data"]["x"] = "3";
  EXPECT_EQ(client_->Apply(kube::kConfigMaps, object, {.field_manager = "m"}).status().code(), StatusCode::kAborted);
}

TEST_P(ApiServerSuite, ApplyNeedsAManagerItsMediaTypeAndNoManagedFields) {
  kube::HttpRequest request = kube::ApplyRequest(kube::kConfigMaps, ConfigMap("a"), {.field_manager = "m"});
  kube::HttpRequest without_manager = request;
  without_manager.target.resize(request.target.find('?'));
  EXPECT_EQ(Send(without_manager).code, 422);
  kube::HttpRequest as_json = request;
  for (auto& [name, value] : as_json.headers) {
    if (name == "Content-Type") value = "application/json";
  }
  EXPECT_EQ(Send(as_json).code, 415);
  Json managed = ConfigMap("a");
  managed["metadata"]["managedFields"] = Json::array();
  request.body = managed.dump();
  EXPECT_EQ(Send(request).code, 400);
}

TEST_P(ApiServerSuite, DryRunsChangeNothing) {
  const Json answer =
      Must(client_->Apply(kube::kStatefulSets, StatefulSet("s", 1), {.field_manager = "m", .dry_run = true}));
  EXPECT_EQ(kube::IntegerAt(answer, {"spec", "replicas"}), 1);
  EXPECT_FALSE(Exists(kube::kStatefulSets, "s"));

  const Json stored = Apply(kube::kStatefulSets, StatefulSet("s", 1), "m");
  const Json changed =
      Must(client_->Apply(kube::kStatefulSets, StatefulSet("s", 2), {.field_manager = "m", .dry_run = true}));
  EXPECT_EQ(kube::IntegerAt(changed, {"spec", "replicas"}), 2);
  EXPECT_EQ(VersionOf(Get(kube::kStatefulSets, "s")), VersionOf(stored));
}

TEST_P(ApiServerSuite, IgnoresTheStatusInWritesOfTheObject) {
  Json training = DistTraining("t");
  training["status"] = {{"phase", "Succeeded"}};
  EXPECT_EQ(kube::Find(Create(kube::kDistTrainings, training), {"status", "phase"}), nullptr);
  EXPECT_EQ(kube::Find(Apply(kube::kDistTrainings, training, "m"), {"status", "phase"}), nullptr);

  Json status = Object(kube::kDistTrainings, "t");
  status["status"] = {{"phase", "Training"}};
  Json stored = Must(client_->ApplyStatus(kube::kDistTrainings, status, {.field_manager = "m"}));
  EXPECT_EQ(kube::StringAt(stored, {"status", "phase"}), "Training");
  stored["status"]["phase"] = "Failed";
  stored["spec"]["epochs"] = 2;
  EXPECT_EQ(kube::StringAt(Must(client_->Replace(kube::kDistTrainings, stored)), {"status", "phase"}), "Training");
}

TEST_P(ApiServerSuite, IgnoresTheSpecInWritesOfTheStatus) {
  const Json created = Create(kube::kDistTrainings, DistTraining("t", {{"epochs", 1}}));
  Json object = created;
  object["spec"]["epochs"] = 7;
  object["status"] = {{"phase", "Training"}};
  kube::HttpRequest request = kube::ReplaceRequest(kube::kDistTrainings, object, "suite");
  const size_t mark = std::min(request.target.find('?'), request.target.size());
  request.target.insert(mark, "/status");
  EXPECT_EQ(Send(request).code, 200);

  const Json stored = Get(kube::kDistTrainings, "t");
  EXPECT_EQ(kube::IntegerAt(stored, {"spec", "epochs"}), 1);
  EXPECT_EQ(kube::StringAt(stored, {"status", "phase"}), "Training");
  EXPECT_EQ(GenerationOf(stored), 1);
  EXPECT_NE(VersionOf(stored), VersionOf(created));
}

TEST_P(ApiServerSuite, StatusExistsOnlyForKindsWithSubresource) {
  Create(kube::kConfigMaps, ConfigMap("a"));
  EXPECT_EQ(client_->ApplyStatus(kube::kConfigMaps, ConfigMap("a"), {.field_manager = "m"}).status().code(),
            StatusCode::kNotFound);
}

TEST_P(ApiServerSuite, StatusesOfTwoManagersMerge) {
  Create(kube::kDistTrainings, DistTraining("t"));
  Json status = Object(kube::kDistTrainings, "t");
  status["status"] = {{"phase", "Training"},
                      {"conditions", {Condition("Accepted", "True"), Condition("Failed", "False")}}};
  const Json once = Must(client_->ApplyStatus(kube::kDistTrainings, status, {.field_manager = "operator"}));
  EXPECT_EQ(VersionOf(Must(client_->ApplyStatus(kube::kDistTrainings, status, {.field_manager = "operator"}))),
            VersionOf(once));
  Json progress = Object(kube::kDistTrainings, "t");
  progress["status"] = {{"progress", {{"epoch", 3}}}, {"conditions", Json::array({Condition("Seen", "True")})}};
  Must(client_->ApplyStatus(kube::kDistTrainings, progress, {.field_manager = "operator-progress"}));

  status["status"]["conditions"] = Json::array({Condition("Accepted", "False")});
  const Json stored = Must(client_->ApplyStatus(kube::kDistTrainings, status, {.field_manager = "operator"}));

  EXPECT_EQ(kube::IntegerAt(stored, {"status", "progress", "epoch"}), 3);
  EXPECT_THAT(Conditions(stored), UnorderedElementsAre("Accepted=False", "Seen=True"));
}

}  // namespace
}  // namespace espalier::ctl::client
