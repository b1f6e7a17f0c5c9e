// Tests the method, target, headers and body of each kind of request.
#include "operator/kube/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Header = std::pair<std::string, std::string>;

const ObjectKey kKey{"ml", "cora"};

Json PodNamed(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"namespace", "ml"}, {"name", name}}}};
}

TEST(RequestTest, BuildsPathsOfCoreAndGroups) {
  EXPECT_EQ(GetRequest(kPods, kKey).target, "/api/v1/namespaces/ml/pods/cora");
  EXPECT_EQ(GetRequest(kDistTrainings, kKey).target, "/apis/espalier.io/v1alpha1/namespaces/ml/disttrainings/cora");
  EXPECT_EQ(GetRequest(kNodes, {"", "n"}).target, "/api/v1/nodes/n");
  EXPECT_EQ(GetRequest(kPods, kKey).method, "GET");
  EXPECT_THAT(GetRequest(kPods, kKey).headers, Contains(Header("Accept", "application/json")));
}

TEST(RequestTest, ListsInPages) {
  EXPECT_EQ(ListRequest(kPods, {}).target, "/api/v1/pods?limit=500");
  EXPECT_EQ(ListRequest(kPods, {.name_space = "ml",
                                .label_selector = "a=b,c in (d)",
                                .field_selector = "status.phase!=Failed",
                                .resource_version = "0",
                                .limit = 0})
                .target,
            "/api/v1/namespaces/ml/pods?labelSelector=a%3Db%2Cc%20in%20%28d%29&fieldSelector=status.phase%21%3DFailed"
            "&resourceVersion=0");
}

TEST(RequestTest, ALaterPageHasNoVersion) {
  EXPECT_EQ(ListRequest(kPods, {.resource_version = "7", .continue_token = "t/+="}).target,
            "/api/v1/pods?limit=500&continue=t%2F%2B%3D");
}

TEST(RequestTest, AVersionMeansNotOlderThan) {
  EXPECT_EQ(ListRequest(kPods, {.resource_version = "7"}).target,
            "/api/v1/pods?limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan");
}

TEST(RequestTest, WatchesWithBookmarksAndAnEnd) {
  EXPECT_EQ(
      WatchRequest(kJobs, {.name_space = "ml", .label_selector = "a=b", .resource_version = "7"}).target,
      "/apis/batch/v1/namespaces/ml/jobs?watch=true&allowWatchBookmarks=true&labelSelector=a%3Db&resourceVersion=7"
      "&timeoutSeconds=60");
}

TEST(RequestTest, CreatesInTheCollection) {
  const HttpRequest request = CreateRequest(kPods, PodNamed("x"), "me");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/api/v1/namespaces/ml/pods?fieldManager=me");
  EXPECT_EQ(request.body, Print(PodNamed("x")));
  EXPECT_THAT(request.headers, Contains(Header("Content-Type", "application/json")));
  EXPECT_TRUE(request.repeatable);
  EXPECT_FALSE(CreateRequest(kPods, {{"metadata", {{"generateName", "x-"}}}}, "me").repeatable);
}

TEST(RequestTest, ReplacesByName) {
  const HttpRequest request = ReplaceRequest(kPods, PodNamed("x"), "me");
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.target, "/api/v1/namespaces/ml/pods/x?fieldManager=me");
}

TEST(RequestTest, AppliesWithItsOwnContentType) {
  const HttpRequest request = ApplyRequest(kPods, PodNamed("x"), {.field_manager = "me"}, "status");
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/api/v1/namespaces/ml/pods/x/status?fieldManager=me&force=true");
  EXPECT_THAT(request.headers, Contains(Header("Content-Type", "application/apply-patch+yaml")));
  EXPECT_EQ(ApplyRequest(kPods, PodNamed("x"), {.field_manager = "me", .force = false, .dry_run = true}).target,
            "/api/v1/namespaces/ml/pods/x?fieldManager=me&dryRun=All&fieldValidation=Strict");
}

TEST(RequestTest, AppliesJsonThatIsYamlToo) {
  const std::string odd =
      "é\x7f\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xbe\xef\xbf\xbf\xf0\x9f\x8c\xb3\xc2\xa0\n";
  const HttpRequest request = ApplyRequest(kPods, {{"a", odd}}, {});
  EXPECT_EQ(request.body, "{\"a\":\"é\\u007f\\u0085\\u2028\\u2029\\ufeff\\ufffe\\uffff\xf0\x9f\x8c\xb3\xc2\xa0\\n\"}");
  EXPECT_EQ(*ParseJson(request.body), Json({{"a", odd}})) << "the same to JSON readers";
}

TEST(RequestTest, MergesPatches) {
  const HttpRequest request = MergePatchRequest(kEvents, kKey, {{"series", {{"count", 2}}}}, "me");
  EXPECT_EQ(request.target, "/apis/events.k8s.io/v1/namespaces/ml/events/cora?fieldManager=me");
  EXPECT_THAT(request.headers, Contains(Header("Content-Type", "application/merge-patch+json")));
  EXPECT_EQ(request.body, R"({"series":{"count":2}})");
}

TEST(RequestTest, DeleteHasUidPrecondition) {
  const HttpRequest request = DeleteRequest(kJobs, kKey, {.uid = "u-1"});
  EXPECT_EQ(request.method, "DELETE");
  EXPECT_EQ(request.target, "/apis/batch/v1/namespaces/ml/jobs/cora");
  EXPECT_EQ(request.body, R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u-1"},)"
                          R"("propagationPolicy":"Background"})");
  EXPECT_THAT(DeleteRequest(kJobs, kKey, {}).body, HasSubstr(R"("preconditions":{"uid":""})")) << "which no object has";
}

TEST(RequestTest, DeletesWithoutGracePeriodOnRequest) {
  const HttpRequest request = DeleteRequest(
      kPods, kKey,
      {.uid = "u-1", .resource_version = "7", .propagation = Propagation::kForeground, .grace_period_seconds = 0});
  EXPECT_EQ(request.body, R"({"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions",)"
                          R"("preconditions":{"resourceVersion":"7","uid":"u-1"},"propagationPolicy":"Foreground"})");
}

TEST(RequestTest, EncodesNames) { EXPECT_THAT(GetRequest(kPods, {"m l", "a/b?c"}).target, Not(HasSubstr("?"))); }

}  // namespace
}  // namespace espalier::ctl::kube
