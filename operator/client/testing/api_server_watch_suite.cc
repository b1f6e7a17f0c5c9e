// Tests of lists and watches.
#include "operator/client/testing/api_server_suite.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Json Labeled(Json object, const std::string& value) {
  object["metadata"]["labels"] = {{"app", value}};
  return object;
}

TEST_P(ApiServerSuite, ListsANamespaceByLabel) {
  Create(kube::kConfigMaps, Labeled(ConfigMap("a"), "one"));
  Create(kube::kConfigMaps, Labeled(ConfigMap("b"), "two"));
  Create(kube::kConfigMaps, ConfigMap("c"));

  EXPECT_THAT(Names(kube::kConfigMaps, {}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names(kube::kConfigMaps, {.label_selector = "app=one"}), ElementsAre("a"));
  EXPECT_THAT(Names(kube::kConfigMaps, {.label_selector = "app!=one"}), ElementsAre("b", "c"));
  EXPECT_THAT(Names(kube::kConfigMaps, {.label_selector = "app in (one,two),app notin (two)"}), ElementsAre("a"));
  EXPECT_THAT(Names(kube::kConfigMaps, {.label_selector = "!app"}), ElementsAre("c"));
  EXPECT_THAT(Names(kube::kConfigMaps, {.label_selector = "app"}), ElementsAre("a", "b"));
}

TEST_P(ApiServerSuite, ListsByField) {
  Create(kube::kPods, Pod("here", "node-1"));
  Create(kube::kPods, Pod("there", "node-2"));
  Create(kube::kPods, Pod("nowhere"));
  Json event = Object(kube::kCoreEvents, "e");
  event["involvedObject"] = {{"kind", "Pod"}, {"namespace", name_space_}, {"name", "here"}, {"uid", "uid-of-here"}};
  event["reason"] = "FailedCreate";
  Create(kube::kCoreEvents, event);

  EXPECT_THAT(Names(kube::kPods, {.field_selector = "spec.nodeName=node-1"}), ElementsAre("here"));
  EXPECT_THAT(Names(kube::kPods, {.field_selector = "metadata.name=there"}), ElementsAre("there"));
  EXPECT_THAT(Names(kube::kCoreEvents, {.field_selector = "involvedObject.uid=uid-of-here"}), ElementsAre("e"));
  EXPECT_THAT(Names(kube::kCoreEvents, {.field_selector = "involvedObject.uid=another"}), IsEmpty());
  EXPECT_EQ(client_->List(kube::kConfigMaps, {.name_space = name_space_, .field_selector = "data.x=1"}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_P(ApiServerSuite, ListsPagesOfOneVersion) {
  for (const char* name : {"a", "b", "c"}) Create(kube::kConfigMaps, ConfigMap(name));
  const HttpResponse first = Send(kube::ListRequest(kube::kConfigMaps, {.name_space = name_space_, .limit = 2}));
  const Json page = Must(kube::ParseJson(first.body));
  EXPECT_EQ(kube::ListAt(page, {"items"}).size(), 2u);
  Create(kube::kConfigMaps, ConfigMap("d"));

  const HttpResponse second = Send(kube::ListRequest(
      kube::kConfigMaps,
      {.name_space = name_space_, .limit = 2, .continue_token = kube::StringAt(page, {"metadata", "continue"})}));
  const Json rest = Must(kube::ParseJson(second.body));
  EXPECT_EQ(kube::ListAt(rest, {"items"}).size(), 1u);
  EXPECT_EQ(kube::StringAt(rest, {"metadata", "continue"}), "");
  EXPECT_EQ(VersionOf(rest), VersionOf(page));
  EXPECT_THAT(Names(kube::kConfigMaps, {.limit = 2}), ElementsAre("a", "b", "c", "d"));
}

TEST_P(ApiServerSuite, ListFromCacheIgnoresLimit) {
  for (const char* name : {"a", "b", "c"}) Create(kube::kConfigMaps, ConfigMap(name));
  const kube::ListOptions from_cache{.name_space = name_space_, .resource_version = "0", .limit = 2};
  Json list;
  EXPECT_TRUE(Eventually([&] {  // the cache may lag behind
    list = Must(kube::ParseJson(Send(kube::ListRequest(kube::kConfigMaps, from_cache)).body));
    return kube::ListAt(list, {"items"}).size() == 3;
  }));
  EXPECT_EQ(kube::StringAt(list, {"metadata", "continue"}), "");
}

TEST_P(ApiServerSuite, ExpiredPageReturnsTokenForRest) {
  for (const char* name : {"a", "b", "c"}) Create(kube::kConfigMaps, ConfigMap(name));
  const HttpResponse first = Send(kube::ListRequest(kube::kConfigMaps, {.name_space = name_space_, .limit = 2}));
  const Json page = Must(kube::ParseJson(first.body));
  Create(kube::kConfigMaps, ConfigMap("d"));  // else the list would be of the newest version, which is never too old
  server_->ForgetHistory();

  const HttpResponse second = Send(kube::ListRequest(
      kube::kConfigMaps,
      {.name_space = name_space_, .limit = 2, .continue_token = kube::StringAt(page, {"metadata", "continue"})}));
  EXPECT_EQ(second.code, 410);
  const kube::ApiError error = kube::ParseApiError(second.code, second.body);
  EXPECT_EQ(error.reason, "Expired");
  EXPECT_FALSE(error.continue_token.empty());
  const HttpResponse rest = Send(kube::ListRequest(
      kube::kConfigMaps, {.name_space = name_space_, .limit = 2, .continue_token = error.continue_token}));
  EXPECT_EQ(rest.code, 200);
  EXPECT_EQ(kube::ListAt(Must(kube::ParseJson(rest.body)), {"items"}).size(), 2u) << "c, and d of another moment";
}

TEST_P(ApiServerSuite, RefusesFutureVersions) {
  const HttpResponse answer = Send(
      kube::ListRequest(kube::kConfigMaps, {.name_space = name_space_, .resource_version = "99999999999", .limit = 0}));
  EXPECT_EQ(answer.code, 504);
  EXPECT_EQ(kube::ToStatus(kube::ParseApiError(answer.code, answer.body)).code(), StatusCode::kFailedPrecondition);
}

TEST_P(ApiServerSuite, WatchReceivesEventsAfterVersion) {
  Create(kube::kConfigMaps, ConfigMap("before"));
  const std::string version = Version(kube::kConfigMaps);
  const Json created = Create(kube::kConfigMaps, ConfigMap("a"));  // before the watch is opened, but after `version`
  Reader reader = Watch(kube::kConfigMaps, {.resource_version = version});
  EXPECT_EQ(reader.Next(), "ADDED a");
  EXPECT_EQ(VersionOf(reader.object()), VersionOf(created));

  const Json patched = Must(client_->MergePatch(kube::kConfigMaps, Key("a"), {{"data", {{"x", "1"}}}}));
  EXPECT_EQ(reader.Next(), "MODIFIED a");
  EXPECT_EQ(VersionOf(reader.object()), VersionOf(patched));
  EXPECT_TRUE(client_->Delete(kube::kConfigMaps, Key("a"), {.uid = UidOf(created)}).ok());
  EXPECT_EQ(reader.Next(), "DELETED a");
  EXPECT_EQ(UidOf(reader.object()), UidOf(created));
  EXPECT_NE(VersionOf(reader.object()), VersionOf(patched)) << "a deletion has a version of its own";
}

TEST_P(ApiServerSuite, WatchWithoutVersionReceivesExistingObjects) {
  for (const char* name : {"a", "b"}) Create(kube::kConfigMaps, ConfigMap(name));
  Reader reader = Watch(kube::kConfigMaps, {});
  const std::vector<std::string> seen = {reader.Next(), reader.Next()};
  EXPECT_THAT(seen, UnorderedElementsAre("ADDED a", "ADDED b"));
  Create(kube::kConfigMaps, ConfigMap("c"));
  EXPECT_EQ(reader.Next(), "ADDED c");
}

TEST_P(ApiServerSuite, WatchWithSelectorReceivesAddedAndDeleted) {
  const std::string version = Version(kube::kConfigMaps);
  Reader reader = Watch(kube::kConfigMaps, {.label_selector = "app=one", .resource_version = version});
  Create(kube::kConfigMaps, Labeled(ConfigMap("other"), "two"));
  Create(kube::kConfigMaps, Labeled(ConfigMap("a"), "two"));
  const auto label = [&](const std::string& value) {
    Must(client_->MergePatch(kube::kConfigMaps, Key("a"), {{"metadata", {{"labels", {{"app", value}}}}}}));
  };
  label("one");
  EXPECT_EQ(reader.Next(), "ADDED a");
  label("two");
  EXPECT_EQ(reader.Next(), "DELETED a");
}

TEST_P(ApiServerSuite, WatchEndsAfterTimeout) {
  Reader reader =
      Watch(kube::kConfigMaps, {.resource_version = Version(kube::kConfigMaps), .timeout = std::chrono::seconds(1)});
  EXPECT_EQ(reader.Next(), "END");
}

TEST_P(ApiServerSuite, CancelsAWatch) {
  Reader reader = Watch(kube::kConfigMaps, {.resource_version = Version(kube::kConfigMaps)});
  reader.lines().Cancel();
  EXPECT_EQ(reader.lines().Next(Deadline::After(std::chrono::seconds(30))).status().code(), StatusCode::kCancelled);
}

TEST_P(ApiServerSuite, WatchFromExpiredVersionReceivesErrorEvent) {
  const std::string version = Version(kube::kConfigMaps);
  Create(kube::kConfigMaps, ConfigMap("a"));
  Create(kube::kConfigMaps, ConfigMap("b"));
  server_->ForgetHistory();

  Reader reader = Watch(kube::kConfigMaps, {.resource_version = version});
  EXPECT_EQ(reader.Next(), "ERROR Expired");
  EXPECT_EQ(kube::IntegerAt(reader.object(), {"code"}), 410);
  Reader again = Watch(kube::kConfigMaps, {.resource_version = Version(kube::kConfigMaps)});
  Create(kube::kConfigMaps, ConfigMap("c"));
  EXPECT_EQ(again.Next(), "ADDED c");
}

}  // namespace
}  // namespace espalier::ctl::client
