// Tests of single objects: create, get, replace, patch, delete, and garbage collection.
#include "operator/client/testing/api_server_suite.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

kube::DeleteOptions ThisOne(const Json& object) { return {.uid = UidOf(object)}; }

TEST_P(ApiServerSuite, CreateSetsUidVersionAndTime) {
  const Json created = Create(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}}));

  EXPECT_THAT(UidOf(created), Not(IsEmpty()));
  EXPECT_THAT(VersionOf(created), Not(IsEmpty()));
  EXPECT_THAT(kube::StringAt(created, {"metadata", "creationTimestamp"}), Not(IsEmpty()));
  EXPECT_EQ(kube::StringAt(created, {"metadata", "namespace"}), name_space_);
  const Json read = Get(kube::kConfigMaps, "a");
  EXPECT_EQ(VersionOf(read), VersionOf(created));
  EXPECT_EQ(kube::StringAt(read, {"data", "x"}), "1");
  EXPECT_EQ(kube::StringAt(read, {"kind"}), "ConfigMap");
}

TEST_P(ApiServerSuite, CreateOfExistingObjectFails) {
  const Json first = Create(kube::kConfigMaps, ConfigMap("a"));

  EXPECT_EQ(client_->Create(kube::kConfigMaps, ConfigMap("a", {{"x", "2"}})).status().code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(VersionOf(Get(kube::kConfigMaps, "a")), VersionOf(first));
}

TEST_P(ApiServerSuite, RefusesBodyThatDoesNotMatchUrl) {
  Json elsewhere = ConfigMap("a");
  elsewhere["metadata"]["namespace"] = "default";
  kube::HttpRequest request = kube::CreateRequest(kube::kConfigMaps, ConfigMap("a"), "suite");
  request.body = elsewhere.dump();
  EXPECT_EQ(Send(request).code, 400);
  request.body = Pod("a").dump();
  EXPECT_EQ(Send(request).code, 400);
  request.body = "{";
  EXPECT_EQ(Send(request).code, 400);
  Create(kube::kConfigMaps, ConfigMap("a"));
  request = kube::ReplaceRequest(kube::kConfigMaps, ConfigMap("a"), "suite");
  request.body = ConfigMap("b").dump();
  EXPECT_EQ(Send(request).code, 400);
}

TEST_P(ApiServerSuite, RefusesInvalidNames) {
  EXPECT_EQ(client_->Create(kube::kConfigMaps, ConfigMap("No_Name")).status().code(), StatusCode::kInvalidArgument);
  Json nameless = ConfigMap("a");
  nameless["metadata"].erase("name");
  kube::HttpRequest request = kube::CreateRequest(kube::kConfigMaps, ConfigMap("a"), "suite");
  request.body = nameless.dump();
  EXPECT_EQ(Send(request).code, 422);
}

TEST_P(ApiServerSuite, ReturnsNotFoundForMissingObject) {
  EXPECT_EQ(client_->Get(kube::kConfigMaps, Key("a")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(client_->Replace(kube::kConfigMaps, ConfigMap("a")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(client_->MergePatch(kube::kConfigMaps, Key("a"), {{"data", {{"x", "1"}}}}).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(client_->ApplyStatus(kube::kJobs, Job("a"), {.field_manager = "m"}).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(client_->Delete(kube::kConfigMaps, Key("a"), {.uid = "gone"}).ok());
  const HttpResponse answer = Send(kube::GetRequest(kube::kConfigMaps, Key("a")));
  EXPECT_THAT(answer.body, HasSubstr("\"reason\":\"NotFound\""));
}

TEST_P(ApiServerSuite, RefusesUnknownKinds) {
  static constexpr kube::Resource kUnknown{"espalier.io", "v1alpha1", "unknowns", "Unknown"};
  EXPECT_EQ(client_->Get(kUnknown, Key("a")).status().code(), StatusCode::kNotFound);
  static constexpr kube::Resource kNoGroup{"nothing.example.com", "v1", "unknowns", "Unknown"};
  EXPECT_EQ(client_->List(kNoGroup, {.name_space = name_space_}).status().code(), StatusCode::kNotFound);
}

TEST_P(ApiServerSuite, ReplaceChecksResourceVersion) {
  Json first = Create(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}}));
  Json second = first;
  second["data"]["x"] = "2";
  second = Must(client_->Replace(kube::kConfigMaps, second));
  EXPECT_NE(VersionOf(second), VersionOf(first));

  first["data"]["x"] = "3";
  EXPECT_EQ(client_->Replace(kube::kConfigMaps, first).status().code(), StatusCode::kAborted);
  EXPECT_EQ(kube::StringAt(Get(kube::kConfigMaps, "a"), {"data", "x"}), "2");
}

TEST_P(ApiServerSuite, ReplaceOfLeaseNeedsVersion) {
  Json lease = Object(kube::kLeases, "l");
  lease["spec"] = {{"holderIdentity", "one"}};
  const Json created = Create(kube::kLeases, lease);
  EXPECT_EQ(client_->Replace(kube::kLeases, lease).status().code(), StatusCode::kInvalidArgument);

  Json taken = created;  // two processes take it at the same time: one succeeds
  taken["spec"]["holderIdentity"] = "two";
  EXPECT_TRUE(client_->Replace(kube::kLeases, taken).ok());
  taken["spec"]["holderIdentity"] = "three";
  EXPECT_EQ(client_->Replace(kube::kLeases, taken).status().code(), StatusCode::kAborted);
  EXPECT_EQ(kube::StringAt(Get(kube::kLeases, "l"), {"spec", "holderIdentity"}), "two");
}

TEST_P(ApiServerSuite, ReplaceChecksUid) {
  const Json created = Create(kube::kConfigMaps, ConfigMap("a"));
  Json other = ConfigMap("a", {{"x", "1"}});
  other["metadata"]["uid"] = "0a0b0c0d-0000-4000-8000-000000000000";
  EXPECT_EQ(client_->Replace(kube::kConfigMaps, other).status().code(), StatusCode::kAborted);

  const Json replaced = Must(client_->Replace(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}})));
  EXPECT_EQ(UidOf(replaced), UidOf(created));
  EXPECT_EQ(kube::StringAt(replaced, {"metadata", "creationTimestamp"}),
            kube::StringAt(created, {"metadata", "creationTimestamp"}));
}

TEST_P(ApiServerSuite, WriteWithoutChangeKeepsVersion) {
  const Json created = Create(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}}));

  EXPECT_EQ(VersionOf(Must(client_->Replace(kube::kConfigMaps, created))), VersionOf(created));
  const Json patched = Must(client_->MergePatch(kube::kConfigMaps, Key("a"), {{"data", {{"x", "1"}}}}));
  EXPECT_EQ(VersionOf(patched), VersionOf(created));
}

TEST_P(ApiServerSuite, GenerationCountsSpecChanges) {
  Json set = Create(kube::kStatefulSets, StatefulSet("s", 1));
  EXPECT_EQ(GenerationOf(set), 1);
  set = Must(client_->MergePatch(kube::kStatefulSets, Key("s"), {{"metadata", {{"labels", {{"a", "b"}}}}}}));
  EXPECT_EQ(GenerationOf(set), 1);
  set = Must(client_->MergePatch(kube::kStatefulSets, Key("s"), {{"spec", {{"replicas", 2}}}}));
  EXPECT_EQ(GenerationOf(set), 2);

  Json training = Create(kube::kDistTrainings, DistTraining("t"));
  EXPECT_EQ(GenerationOf(training), 1);
  training["spec"]["epochs"] = 2;
  EXPECT_EQ(GenerationOf(Must(client_->Replace(kube::kDistTrainings, training))), 2);
  EXPECT_EQ(GenerationOf(Create(kube::kConfigMaps, ConfigMap("a"))), 0);
}

TEST_P(ApiServerSuite, MergePatchesMembersAndRemovesNulls) {
  Create(kube::kConfigMaps, ConfigMap("a", {{"x", "1"}, {"y", "2"}}));

  const Json patched = Must(client_->MergePatch(kube::kConfigMaps, Key("a"), {{"data", {{"x", nullptr}, {"z", "3"}}}}));

  EXPECT_EQ(*kube::Find(patched, {"data"}), Json({{"y", "2"}, {"z", "3"}}));
}

TEST_P(ApiServerSuite, MergePatchChecksResourceVersion) {
  const Json created = Create(kube::kConfigMaps, ConfigMap("a"));
  const Json patch = {{"metadata", {{"resourceVersion", VersionOf(created)}}}, {"data", {{"x", "1"}}}};

  EXPECT_TRUE(client_->MergePatch(kube::kConfigMaps, Key("a"), patch).ok());
  Json again = patch;
  again["data"]["x"] = "2";
  EXPECT_EQ(client_->MergePatch(kube::kConfigMaps, Key("a"), again).status().code(), StatusCode::kAborted);
}

TEST_P(ApiServerSuite, DeleteChecksUid) {
  const Json created = Create(kube::kConfigMaps, ConfigMap("a"));

  EXPECT_EQ(client_->Delete(kube::kConfigMaps, Key("a"), {.uid = "another"}).code(), StatusCode::kAborted);
  kube::DeleteOptions old = ThisOne(created);
  old.resource_version = "1";
  EXPECT_EQ(client_->Delete(kube::kConfigMaps, Key("a"), old).code(), StatusCode::kAborted);
  EXPECT_TRUE(Exists(kube::kConfigMaps, "a"));
  EXPECT_TRUE(client_->Delete(kube::kConfigMaps, Key("a"), ThisOne(created)).ok());
  EXPECT_FALSE(Exists(kube::kConfigMaps, "a"));
}

TEST_P(ApiServerSuite, RecreatedObjectHasNewUid) {
  const Json first = Create(kube::kConfigMaps, ConfigMap("a"));
  EXPECT_TRUE(client_->Delete(kube::kConfigMaps, Key("a"), ThisOne(first)).ok());
  const Json second = Create(kube::kConfigMaps, ConfigMap("a"));

  EXPECT_NE(UidOf(second), UidOf(first));
  EXPECT_EQ(client_->Delete(kube::kConfigMaps, Key("a"), ThisOne(first)).code(), StatusCode::kAborted);
}

TEST_P(ApiServerSuite, FinalizerDelaysDeletion) {
  Json object = ConfigMap("a");
  object["metadata"]["finalizers"] = {"espalier.io/test"};
  const Json created = Create(kube::kConfigMaps, object);
  EXPECT_TRUE(client_->Delete(kube::kConfigMaps, Key("a"), ThisOne(created)).ok());

  const Json ending = Get(kube::kConfigMaps, "a");
  EXPECT_THAT(kube::StringAt(ending, {"metadata", "deletionTimestamp"}), Not(IsEmpty()));
  EXPECT_NE(VersionOf(ending), VersionOf(created));
  Must(client_->MergePatch(kube::kConfigMaps, Key("a"), {{"metadata", {{"finalizers", nullptr}}}}));
  EXPECT_FALSE(Exists(kube::kConfigMaps, "a"));
}

TEST_P(ApiServerSuite, PodOnNodeHasGracePeriod) {
  const Json pod = Create(kube::kPods, Pod("p", "some-node"));
  EXPECT_EQ(kube::StringAt(pod, {"status", "phase"}), "Pending");
  EXPECT_TRUE(client_->Delete(kube::kPods, Key("p"), ThisOne(pod)).ok());

  const Json ending = Get(kube::kPods, "p");  // exists until the kubelet confirms the end
  EXPECT_EQ(kube::IntegerAt(ending, {"metadata", "deletionGracePeriodSeconds"}), 30);
  EXPECT_THAT(kube::StringAt(ending, {"metadata", "deletionTimestamp"}), Not(IsEmpty()));
  kube::DeleteOptions now = ThisOne(pod);
  now.grace_period_seconds = 0;
  EXPECT_TRUE(client_->Delete(kube::kPods, Key("p"), now).ok());
  EXPECT_FALSE(Exists(kube::kPods, "p"));
}

TEST_P(ApiServerSuite, RemovesAPodWithoutANodeAtOnce) {
  const Json pod = Create(kube::kPods, Pod("p"));
  EXPECT_TRUE(client_->Delete(kube::kPods, Key("p"), ThisOne(pod)).ok());
  EXPECT_FALSE(Exists(kube::kPods, "p"));
}

TEST_P(ApiServerSuite, CollectsDependentsOfDeletedOwner) {
  const Json owner = Create(kube::kDistTrainings, DistTraining("t"));
  const Json set = Create(kube::kStatefulSets, OwnedBy(StatefulSet("s", 1), kube::kDistTrainings, owner));
  Create(kube::kPods, OwnedBy(Pod("p"), kube::kStatefulSets, set));
  Create(kube::kConfigMaps, ConfigMap("other"));

  EXPECT_TRUE(client_->Delete(kube::kDistTrainings, Key("t"), ThisOne(owner)).ok());

  EXPECT_TRUE(Eventually([&] { return !Exists(kube::kStatefulSets, "s") && !Exists(kube::kPods, "p"); }));
  EXPECT_TRUE(Exists(kube::kConfigMaps, "other"));
}

TEST_P(ApiServerSuite, ForegroundDeletionWaitsForDependents) {
  const Json owner = Create(kube::kDistTrainings, DistTraining("t"));
  Json pod = OwnedBy(Pod("p", "some-node"), kube::kDistTrainings, owner);
  pod = Create(kube::kPods, pod);
  kube::DeleteOptions foreground = ThisOne(owner);
  foreground.propagation = kube::Propagation::kForeground;
  EXPECT_TRUE(client_->Delete(kube::kDistTrainings, Key("t"), foreground).ok());

  EXPECT_TRUE(Eventually([&] {
    return !kube::StringAt(Get(kube::kPods, "p"), {"metadata", "deletionTimestamp"}).empty();
  }));
  EXPECT_TRUE(Exists(kube::kDistTrainings, "t"));
  kube::DeleteOptions now = ThisOne(pod);
  now.grace_period_seconds = 0;
  EXPECT_TRUE(client_->Delete(kube::kPods, Key("p"), now).ok());
  EXPECT_TRUE(Eventually([&] { return !Exists(kube::kDistTrainings, "t"); }));
}

TEST_P(ApiServerSuite, CollectsObjectsOfMissingOwner) {
  const Json owner = Create(kube::kDistTrainings, DistTraining("t"));
  EXPECT_TRUE(client_->Delete(kube::kDistTrainings, Key("t"), ThisOne(owner)).ok());

  Create(kube::kConfigMaps, OwnedBy(ConfigMap("late"), kube::kDistTrainings, owner));

  EXPECT_TRUE(Eventually([&] { return !Exists(kube::kConfigMaps, "late"); }));
}

TEST_P(ApiServerSuite, DeletingJobOrphansPodsByDefault) {
  const Json job = Create(kube::kJobs, Job("j"));
  const Json pod = Create(kube::kPods, OwnedBy(Pod("p"), kube::kJobs, job));
  // The collector must have seen the pod before the Job is deleted, or it deletes the pod as an object whose owner is
  // gone. It sees pods in order: when it has collected a later pod without an owner, it has seen this one.
  Json gone = job;
  gone["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000";
  Create(kube::kPods, OwnedBy(Pod("later"), kube::kJobs, gone));
  ASSERT_TRUE(Eventually([&] { return !Exists(kube::kPods, "later"); }));
  kube::HttpRequest request = kube::DeleteRequest(kube::kJobs, Key("j"), ThisOne(job));
  request.body = R"({"apiVersion":"v1","kind":"DeleteOptions"})";
  EXPECT_EQ(Send(request).code, 200);

  EXPECT_TRUE(Eventually([&] { return !Exists(kube::kJobs, "j"); }));
  EXPECT_TRUE(Eventually([&] { return kube::ListAt(Get(kube::kPods, "p"), {"metadata", "ownerReferences"}).empty(); }));
  EXPECT_EQ(UidOf(Get(kube::kPods, "p")), UidOf(pod));
}

TEST_P(ApiServerSuite, StrictValidationNamesUnknownFields) {
  Json object = ConfigMap("a");
  object["bogus"] = 1;
  kube::HttpRequest request = kube::CreateRequest(kube::kConfigMaps, object, "suite");
  request.target += (request.target.find('?') == std::string::npos ? "?" : "&") + std::string("fieldValidation=Strict");
  const HttpResponse answer = Send(request);
  EXPECT_EQ(answer.code, 400);
  EXPECT_THAT(answer.body, HasSubstr("unknown field"));
  EXPECT_THAT(answer.body, HasSubstr("bogus"));
  // Server-side apply always reports unknown fields, with a code of its own.
  const HttpResponse applied = Send(kube::ApplyRequest(kube::kConfigMaps, object, {.field_manager = "m"}));
  EXPECT_EQ(applied.code, 500);
  EXPECT_THAT(applied.body, HasSubstr(".bogus: field not declared in schema"));
  EXPECT_FALSE(Exists(kube::kConfigMaps, "a"));
}

}  // namespace
}  // namespace espalier::ctl::client
