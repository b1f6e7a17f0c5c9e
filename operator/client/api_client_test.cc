// Tests the API client with scripted responses: names and error messages, lists in pages, retries with their limits,
// the rate limit, and the opening of watches.
#include "operator/client/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "operator/client/testing/scripted_transport.h"
#include "operator/kube/watch_event.h"
#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using kube::kJobs;
using kube::kPods;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const kube::ObjectKey kKey{"ml", "x"};

std::string Error(int code, const std::string& reason, const std::string& message = "m") {
  return kube::Print(
      {{"apiVersion", "v1"}, {"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}});
}

Json PodNamed(const std::string& name) { return {{"metadata", {{"namespace", "ml"}, {"name", name}}}}; }

std::string PageOf(const std::vector<std::string>& names, const std::string& continue_token) {
  Json items = Json::array();
  for (const std::string& name : names) items.push_back(PodNamed(name));
  return kube::Print(
      {{"kind", "PodList"}, {"metadata", {{"resourceVersion", "7"}, {"continue", continue_token}}}, {"items", items}});
}

std::vector<std::string> NamesOf(const std::vector<Json>& items) {
  std::vector<std::string> names;
  for (const Json& item : items) names.push_back(kube::StringAt(item, {"metadata", "name"}));
  return names;
}

class ApiClientTest : public ::testing::Test {
 protected:
  std::vector<std::string> Targets() const {
    std::vector<std::string> targets;
    for (const kube::HttpRequest& request : transport_.requests())
      targets.push_back(request.method + " " + request.target);
    return targets;
  }
  nanoseconds Slept() {
    const std::vector<nanoseconds> slept = clock_.slept();
    return std::accumulate(slept.begin(), slept.end(), nanoseconds(0));
  }

  telemetry::MetricRegistry registry_;
  ClientMetrics metrics_{registry_};
  FakeClock clock_;
  ScriptedTransport transport_;
  ApiClient client_{transport_, {.field_manager = "me"}, metrics_, clock_};
};

TEST_F(ApiClientTest, GetsAnObject) {
  transport_.Then(200, R"({"kind":"Pod","metadata":{"name":"x","managedFields":[{}]}})");
  const Result<Json> pod = client_.Get(kPods, kKey);
  ASSERT_TRUE(pod.ok()) << pod.status().ToString();
  EXPECT_EQ(kube::Print(*pod), R"({"kind":"Pod","metadata":{"name":"x"}})") << "without managedFields";
  EXPECT_THAT(Targets(), ElementsAre("GET /api/v1/namespaces/ml/pods/x"));
}

TEST_F(ApiClientTest, GetsAnObjectWithManagedFields) {
  constexpr char kBody[] = R"({"kind":"Pod","metadata":{"managedFields":[{}],"name":"x"}})";
  transport_.Then(200, kBody);
  const Result<Json> pod = client_.GetWithManagedFields(kPods, kKey);
  ASSERT_TRUE(pod.ok()) << pod.status().ToString();
  EXPECT_EQ(kube::Print(*pod), kBody);
  transport_.Then(200, "[]");
  EXPECT_EQ(client_.GetWithManagedFields(kPods, kKey).status(),
            Internal("GET pods ml/x: HTTP 200, but the body is not a JSON object"));
}

TEST_F(ApiClientTest, ErrorsNameRequestAndServerMessage) {
  transport_.Then(404, Error(404, "NotFound", "pods \"x\" not found"));
  EXPECT_EQ(client_.Get(kPods, kKey).status(), NotFound("GET pods ml/x: pods \"x\" not found"));
  transport_.Then(409, Error(409, "AlreadyExists"));
  EXPECT_EQ(client_.Create(kPods, PodNamed("x")).status(), AlreadyExists("CREATE pods ml/x: m"));
  transport_.Then(409, Error(409, "Conflict"));
  EXPECT_EQ(client_.Replace(kPods, PodNamed("x")).status(), Aborted("REPLACE pods ml/x: m"));
  transport_.Then(403, Error(403, "Forbidden"));
  EXPECT_EQ(client_.List(kPods, {.name_space = "ml"}).status(),
            Status(StatusCode::kPermissionDenied, "LIST pods in ml: m"));
}

TEST_F(ApiClientTest, NonObjectResponseIsError) {
  for (const char* body : {"", "<html>login</html>", "[]", "null", "{"}) {
    transport_.Then(200, body);
    const Status status = client_.Get(kPods, kKey).status();
    EXPECT_EQ(status.code(), StatusCode::kInternal) << body;
    EXPECT_THAT(status.message(), HasSubstr("GET pods ml/x: HTTP 200, but")) << body;
    EXPECT_THAT(status.message(), Not(HasSubstr("login")));
  }
  transport_.Then(302, "");
  EXPECT_EQ(client_.Get(kPods, kKey).status().code(), StatusCode::kUnknown);
}

TEST_F(ApiClientTest, RefusesNamesThatChangePath) {
  EXPECT_EQ(client_.Get(kPods, {"ml", ".."}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client_.Delete(kPods, {"ml", ""}, {.uid = "u"}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client_.Delete(kPods, {"", "x"}, {.uid = "u"}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client_.Create(kPods, {{"metadata", {{"generateName", "x-"}, {"namespace", "ml"}}}}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(client_.Apply(kPods, Json("x"), {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(transport_.requests(), IsEmpty());
}

TEST_F(ApiClientTest, WritesWithFieldManager) {
  for (int i = 0; i < 6; ++i) transport_.Then(200, "{}");
  EXPECT_TRUE(client_.Create(kPods, PodNamed("x")).ok());
  EXPECT_TRUE(client_.Apply(kPods, PodNamed("x"), {}).ok());
  EXPECT_TRUE(client_.ApplyStatus(kPods, PodNamed("x"), {.field_manager = "other", .force = false}).ok());
  EXPECT_TRUE(client_.MergePatch(kPods, kKey, {{"a", 1}}).ok());
  EXPECT_TRUE(client_.MergePatchStatus(kPods, kKey, {{"a", 1}}).ok());
  EXPECT_TRUE(client_.Replace(kPods, PodNamed("x")).ok());
  EXPECT_THAT(Targets(), ElementsAre("POST /api/v1/namespaces/ml/pods?fieldManager=me",
                                     "PATCH /api/v1/namespaces/ml/pods/x?fieldManager=me&force=true",
                                     "PATCH /api/v1/namespaces/ml/pods/x/status?fieldManager=other",
                                     "PATCH /api/v1/namespaces/ml/pods/x?fieldManager=me",
                                     "PATCH /api/v1/namespaces/ml/pods/x/status?fieldManager=me",
                                     "PUT /api/v1/namespaces/ml/pods/x?fieldManager=me"));
}

TEST_F(ApiClientTest, ReviewReturnsStatus) {
  transport_.Then(201, R"({"kind": "TokenReview", "status": {"authenticated": true}})");
  const Result<Json> review = client_.Review(kube::kTokenReviews, {{"spec", {{"token", "secret"}}}});
  ASSERT_TRUE(review.ok()) << review.status().ToString();
  EXPECT_TRUE(kube::BoolAt(*review, {"status", "authenticated"}));
  EXPECT_THAT(Targets(), ElementsAre("POST /apis/authentication.k8s.io/v1/tokenreviews?fieldManager=me"));
  transport_.Then(403, Error(403, "Forbidden"));
  EXPECT_EQ(client_.Review(kube::kTokenReviews, {{"spec", {{"token", "secret"}}}}).status(),
            Status(StatusCode::kPermissionDenied, "CREATE tokenreviews: m"));
}

TEST_F(ApiClientTest, DeleteOfMissingObjectSucceeds) {
  transport_.Then(200, R"({"kind":"Status","status":"Success"})");
  transport_.Then(202, R"({"kind":"Pod"})");
  transport_.Then(404, Error(404, "NotFound"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client_.Delete(kPods, kKey, {.uid = "u"}), Status());
}

TEST_F(ApiClientTest, ProxyErrorPageIsNotNotFound) {
  transport_.Then(404, "<html>no such site</html>");
  EXPECT_EQ(client_.Delete(kPods, kKey, {.uid = "u"}).code(), StatusCode::kNotFound);
}

TEST_F(ApiClientTest, DeletesOnlyObjectWithUid) {
  transport_.Then(409, Error(409, "Conflict", "the UID in the precondition (u) does not match"));
  const Status status = client_.Delete(kJobs, kKey, {.uid = "u"});
  EXPECT_EQ(status, Aborted("DELETE jobs ml/x: the UID in the precondition (u) does not match"));
}

TEST_F(ApiClientTest, ListsAllPages) {
  transport_.Then(200, PageOf({"a", "b"}, "t1"));
  transport_.Then(200, PageOf({"c"}, ""));
  const Result<ObjectList> list = client_.List(kPods, {.name_space = "ml", .resource_version = "0", .limit = 2});
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_THAT(NamesOf(list->items), ElementsAre("a", "b", "c"));
  EXPECT_EQ(list->resource_version, "7");
  EXPECT_EQ(list->items[0]["kind"], "Pod") << "which items of lists do not say";
  EXPECT_EQ(list->items[0]["apiVersion"], "v1");
  EXPECT_THAT(Targets(), ElementsAre("GET /api/v1/namespaces/ml/pods?limit=2&resourceVersion=0",
                                     "GET /api/v1/namespaces/ml/pods?limit=2&continue=t1"));
}

TEST_F(ApiClientTest, ExpiredTokenRestartsOnceWithoutPages) {
  transport_.Then(200, PageOf({"a", "b"}, "t1"));
  transport_.Then(410, Error(410, "Expired"));
  transport_.Then(200, PageOf({"b", "c"}, ""));
  const Result<ObjectList> list = client_.List(kPods, {.resource_version = "5", .limit = 2});
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_THAT(NamesOf(list->items), ElementsAre("b", "c"));
  EXPECT_EQ(Targets().back(), "GET /api/v1/pods?resourceVersion=5&resourceVersionMatch=NotOlderThan");
}

TEST_F(ApiClientTest, ReturnsOutOfRangeForExpiredVersion) {
  transport_.Then(410, Error(410, "Expired"));
  EXPECT_EQ(client_.List(kPods, {.resource_version = "5"}).status().code(), StatusCode::kOutOfRange);
  transport_.Then(200, PageOf({"a"}, "t1"));
  transport_.Then(410, Error(410, "Expired"));
  transport_.Then(410, Error(410, "Expired"));
  EXPECT_EQ(client_.List(kPods, {}).status().code(), StatusCode::kOutOfRange) << "of the list without pages";
  EXPECT_EQ(transport_.num_answers_left(), 0u);
}

TEST_F(ApiClientTest, TooLargeResponseReducesPageSize) {
  transport_.ThenFail(ResourceExhausted("more than 64 MiB"));
  transport_.Then(200, PageOf({"a"}, "t1"));
  transport_.ThenFail(ResourceExhausted("more than 64 MiB"));
  transport_.Then(200, PageOf({"b"}, ""));
  const Result<ObjectList> list = client_.List(kPods, {});
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_THAT(NamesOf(list->items), ElementsAre("a", "b"));
  EXPECT_THAT(Targets(),
              ElementsAre("GET /api/v1/pods?limit=500", "GET /api/v1/pods?limit=250",
                          "GET /api/v1/pods?limit=250&continue=t1", "GET /api/v1/pods?limit=125&continue=t1"));
}

TEST_F(ApiClientTest, TooLargeListWithoutPagesIsPaged) {
  transport_.ThenFail(ResourceExhausted("more than 64 MiB"));
  transport_.Then(200, PageOf({"a"}, ""));
  EXPECT_TRUE(client_.List(kPods, {.limit = 0}).ok());
  EXPECT_EQ(Targets().back(), "GET /api/v1/pods?limit=500");
}

TEST_F(ApiClientTest, TooManyValuesReducePageSize) {
  std::string body = R"({"items":[0)";
  for (size_t i = 0; i < kube::kMaxJsonValues; ++i) body += ",0";
  transport_.Then(200, body + "]}");
  transport_.Then(200, PageOf({"a"}, ""));
  ASSERT_TRUE(client_.List(kPods, {}).ok());
  EXPECT_EQ(Targets().back(), "GET /api/v1/pods?limit=250");
}

TEST_F(ApiClientTest, SingleTooLargeObjectIsError) {
  for (int i = 0; i < 20; ++i) transport_.ThenFail(ResourceExhausted("more than 64 MiB"));
  EXPECT_EQ(client_.List(kPods, {}).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Targets().back(), "GET /api/v1/pods?limit=1");
}

TEST_F(ApiClientTest, OverloadedServerGetsNoFurtherRequests) {
  transport_.Then(429, Error(429, "TooManyRequests"));
  EXPECT_EQ(client_.List(kPods, {}).status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(transport_.requests(), SizeIs(1));
}

TEST_F(ApiClientTest, EachPageHasItsOwnTimeout) {
  for (int i = 1; i <= 5; ++i) {
    transport_.Then([this, i](const kube::HttpRequest&) -> Result<HttpResponse> {
      clock_.Advance(seconds(20));
      return HttpResponse{.code = 200, .body = PageOf({"a"}, i < 5 ? "t" + std::to_string(i) : "")};
    });
  }
  const Result<ObjectList> list = client_.List(kPods, {});
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_THAT(list->items, SizeIs(5));
}

TEST_F(ApiClientTest, StopEndsListAndOpeningOfWatch) {
  std::stop_source stop;
  transport_.Then(200, PageOf({"a"}, "t1"));
  const auto take = [&stop](const std::vector<Json>&) { return stop.request_stop(); };
  EXPECT_EQ(client_
                .ListPages(
                    kPods, {}, take, [] {}, stop.get_token())
                .status(),
            Cancelled("LIST pods: asked to stop"));
  EXPECT_EQ(client_.Watch(kPods, {}, stop.get_token()).status(), Cancelled("WATCH pods: asked to stop"));
  EXPECT_THAT(transport_.requests(), SizeIs(1));
  transport_.Then(200, "{}");
  EXPECT_TRUE(client_.Get(kPods, kKey).ok()) << "nobody else";
}

TEST_F(ApiClientTest, ListPagesStopsWhenCallbackReturnsFalse) {
  transport_.Then(200, PageOf({"a", "b"}, "t1"));
  transport_.Then(200, PageOf({"c"}, "t2"));
  std::vector<std::vector<std::string>> pages;
  const auto take = [&pages](std::vector<Json> page) {
    pages.push_back(NamesOf(page));
    return pages.size() < 2;
  };
  EXPECT_EQ(client_.ListPages(kPods, {}, take, [] {}).status().code(), StatusCode::kCancelled);
  EXPECT_THAT(pages, ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
}

TEST_F(ApiClientTest, ListPagesReportsRestart) {
  transport_.Then(200, PageOf({"a"}, "t1"));
  transport_.Then(410, Error(410, "Expired"));
  transport_.Then(200, PageOf({"b"}, ""));
  std::vector<std::string> pages;
  const auto take = [&pages](std::vector<Json> page) {
    for (const std::string& name : NamesOf(page)) pages.push_back(name);
    return true;
  };
  EXPECT_TRUE(client_.ListPages(kPods, {}, take, [&pages] { pages.push_back("restart"); }).ok());
  EXPECT_THAT(pages, ElementsAre("a", "restart", "b"));
}

TEST_F(ApiClientTest, ListsEmptyAndRejectsMalformedLists) {
  for (const char* body :
       {R"({"metadata":{"resourceVersion":"7"}})", R"({"metadata":{"resourceVersion":"7"},"items":null})"}) {
    transport_.Then(200, body);
    const Result<ObjectList> list = client_.List(kPods, {});
    ASSERT_TRUE(list.ok());
    EXPECT_THAT(list->items, IsEmpty());
    EXPECT_EQ(list->resource_version, "7");
  }
  for (const char* body : {R"({"items":{}})", R"({"items":[1]})", "[]"}) {
    transport_.Then(200, body);
    EXPECT_EQ(client_.List(kPods, {}).status().code(), StatusCode::kInternal) << body;
  }
  transport_.Then(200, PageOf({"a"}, "t1"));
  transport_.Then(200, PageOf({"a"}, "t1"));
  EXPECT_EQ(client_.List(kPods, {}).status(), Internal("LIST pods: repeated continue token"));
}

TEST_F(ApiClientTest, WaitsForRetryAfter) {
  transport_.Then(429, Error(429, "TooManyRequests"), {{"retry-after", "2"}});
  transport_.Then(503, "", {{"Retry-After", "3"}});
  transport_.Then(200, "{}");
  EXPECT_TRUE(client_.Get(kPods, kKey).ok());
  EXPECT_EQ(Slept(), seconds(5));
  EXPECT_THAT(transport_.requests(), SizeIs(3));
}

TEST_F(ApiClientTest, RetriesAtMostTenTimes) {
  for (int i = 0; i < 20; ++i) transport_.Then(429, Error(429, "TooManyRequests"), {{"Retry-After", "1"}});
  EXPECT_EQ(client_.Get(kPods, kKey).status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(transport_.requests(), SizeIs(11));
}

TEST_F(ApiClientTest, DoesNotWaitBeyondItsDeadline) {
  transport_.Then(503, Error(503, "ServiceUnavailable", "starting"), {{"Retry-After", "30"}});
  EXPECT_EQ(client_.Get(kPods, kKey).status(), Unavailable("GET pods ml/x: starting"));
  EXPECT_EQ(Slept(), seconds(0));
}

TEST_F(ApiClientTest, RetriesOnlyIfServerAsks) {
  transport_.Then(429, Error(429, "TooManyRequests"));
  transport_.Then(429, Error(429, "TooManyRequests"), {{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"}});
  transport_.Then(500, Error(500, "InternalError"), {{"Retry-After", "1"}});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(client_.Get(kPods, kKey).ok());
  EXPECT_THAT(transport_.requests(), SizeIs(3));
}

TEST_F(ApiClientTest, RetriesOnceAfterBrokenConnection) {
  transport_.ThenFail(Unavailable("broken pipe"));
  transport_.Then(409, Error(409, "AlreadyExists"));
  EXPECT_EQ(client_.Create(kPods, PodNamed("x")).status().code(), StatusCode::kAlreadyExists)
      << "the first may have been carried out";
  transport_.ThenFail(Unavailable("broken pipe"));
  transport_.ThenFail(Unavailable("broken again"));
  EXPECT_EQ(client_.Create(kPods, PodNamed("x")).status(), Unavailable("CREATE pods ml/x: broken again"));
}

TEST_F(ApiClientTest, UnsentRequestIsUnavailable) {
  transport_.ThenFail(FailedPrecondition("connection refused"));
  transport_.ThenFail(FailedPrecondition("connection refused"));
  EXPECT_EQ(client_.Get(kPods, kKey).status(), Unavailable("GET pods ml/x: not sent: connection refused"));
  EXPECT_THAT(transport_.requests(), SizeIs(2));
}

TEST_F(ApiClientTest, DoesNotRetryOtherFailures) {
  for (const Status& status : {DeadlineExceeded("slow"), Status(StatusCode::kUnauthenticated, "certificate"),
                               ResourceExhausted("too long"), Cancelled("stop")}) {
    transport_.ThenFail(status);
    EXPECT_EQ(client_.Get(kPods, kKey).status().code(), status.code());
  }
  EXPECT_THAT(transport_.requests(), SizeIs(4));
}

TEST_F(ApiClientTest, EveryRequestTakesRateLimitToken) {
  ApiClient client(transport_, {.qps = 10, .burst = 2}, metrics_, clock_);
  transport_.Then(200, "{}");
  transport_.ThenFail(Unavailable("broken pipe"));
  transport_.Then(200, "{}");
  EXPECT_TRUE(client.Get(kPods, kKey).ok());
  EXPECT_EQ(Slept(), seconds(0));
  EXPECT_TRUE(client.Get(kPods, kKey).ok());
  EXPECT_EQ(Slept(), std::chrono::milliseconds(100)) << "the repetition, too";
}

TEST_F(ApiClientTest, FailsIfRateLimitExceedsDeadline) {
  ApiClient client(transport_, {.qps = 0.01, .burst = 1}, metrics_, clock_);
  transport_.Then(200, "{}");
  EXPECT_TRUE(client.Get(kPods, kKey).ok());
  EXPECT_EQ(client.Get(kPods, kKey).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Slept(), seconds(0)) << "at once, since it is known";
  EXPECT_THAT(transport_.requests(), SizeIs(1));
}

TEST_F(ApiClientTest, OpensAWatch) {
  transport_.ThenStream({R"({"type":"ADDED","object":{}})"});
  Result<std::unique_ptr<LineStream>> lines = client_.Watch(kPods, {.name_space = "ml", .resource_version = "7"});
  ASSERT_TRUE(lines.ok()) << lines.status().ToString();
  const Deadline soon = Deadline::After(seconds(10));
  Result<std::optional<std::string>> line = (*lines)->Next(soon);
  ASSERT_TRUE(line.ok() && line->has_value());
  EXPECT_TRUE(kube::ParseWatchEvent(**line).ok());
  line = (*lines)->Next(soon);
  EXPECT_TRUE(line.ok() && !line->has_value());
}

TEST_F(ApiClientTest, OpenWatchRetriesLikeOtherCalls) {
  transport_.ThenFailStream(Unavailable("broken pipe"));
  transport_.ThenRefuseStream(429, "", {{"Retry-After", "1"}});
  transport_.ThenStream({});
  EXPECT_TRUE(client_.Watch(kPods, {}).ok());
  EXPECT_EQ(Slept(), seconds(1));
  transport_.ThenRefuseStream(410, Error(410, "Expired"));
  EXPECT_EQ(client_.Watch(kPods, {}).status(), OutOfRange("WATCH pods: m"));
  transport_.ThenRefuseStream(204, "");
  EXPECT_FALSE(client_.Watch(kPods, {}).ok()) << "a success without events";
}

TEST_F(ApiClientTest, StopEndsRunningAndWaitingCalls) {
  transport_.Then([this](const kube::HttpRequest&) -> Result<HttpResponse> {
    client_.Stop();  // before the response arrives
    return HttpResponse{429, {{"Retry-After", "5"}}, ""};
  });
  EXPECT_EQ(client_.Get(kPods, kKey).status(), Cancelled("GET pods ml/x: the client has stopped"));
  EXPECT_EQ(Slept(), seconds(0));
  EXPECT_EQ(client_.Get(kPods, kKey).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(client_.Watch(kPods, {}).status().code(), StatusCode::kCancelled);
  EXPECT_THAT(transport_.requests(), SizeIs(1));
}

TEST_F(ApiClientTest, CountsRequestsByMethodAndCode) {
  transport_.Then(200, "{}");
  transport_.ThenFail(Unavailable("broken pipe"));
  transport_.Then(404, Error(404, "NotFound"));
  EXPECT_TRUE(client_.Get(kPods, kKey).ok());
  EXPECT_FALSE(client_.Get(kPods, kKey).ok());
  const std::string text = registry_.Serialize();
  EXPECT_THAT(text, HasSubstr(R"(rest_client_requests_total{code="200",method="GET"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(rest_client_requests_total{code="404",method="GET"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(rest_client_requests_total{code="<error>",method="GET"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(rest_client_request_duration_seconds_count{verb="GET"} 3)"));
}

}  // namespace
}  // namespace espalier::ctl::client
