// Runs the suite of api_server_suite.h on the fake API server, and tests its functions for tests.
#include "operator/client/testing/fake_api_server.h"

#include <thread>

#include "operator/client/testing/api_server_suite.h"
#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Fake final : public ApiServerUnderTest {
 public:
  HttpTransport& transport() override { return *transport_; }
  void ForgetHistory() override { server_.Compact(); }

 private:
  FakeApiServer server_;
  std::unique_ptr<HttpTransport> transport_ = server_.Connect();
};

INSTANTIATE_TEST_SUITE_P(Fake, ApiServerSuite,
                         ::testing::Values(ApiServerCase{"Fake", [] { return std::make_shared<Fake>(); }}),
                         [](const auto& param) { return param.param.name; });

Json ConfigMap(const std::string& name, const std::string& x = "1") {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"data", {{"x", x}}}};
}

Json Pod(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec", {{"nodeName", "n"}}},
          {"status", {{"phase", "Running"}}}};
}

const kube::ObjectKey kA{"default", "a"};

class FakeApiServerTest : public ::testing::Test {
 protected:
  std::unique_ptr<LineStream> Watch(const kube::WatchOptions& options = {}) {
    Result<HttpTransport::Stream> stream = transport_->Open(kube::WatchRequest(kube::kConfigMaps, options),
                                                            Deadline::After(std::chrono::hours(1), clock_));
    EXPECT_TRUE(stream.ok() && stream->head.code == 200);
    return std::move(stream->lines);
  }
  // Returns the type of the next event ("ADDED"), "END", or the error code, without waiting.
  std::string Next(LineStream& lines) {
    const Result<std::optional<std::string>> line = lines.Next(Deadline::After(std::chrono::nanoseconds(0), clock_));
    if (!line.ok()) return StatusCodeName(line.status().code());
    if (!*line) return "END";
    const Result<Json> event = kube::ParseJson(**line);
    EXPECT_TRUE(event.ok());
    last_version_ = kube::StringAt(*event, {"object", "metadata", "resourceVersion"});
    return kube::StringAt(*event, {"type"});
  }
  int Send(const kube::HttpRequest& request) {
    const Result<HttpResponse> answer = transport_->Send(request, Deadline::After(std::chrono::hours(1), clock_));
    return answer.ok() ? answer->code : -static_cast<int>(answer.status().code());
  }
  int Create(const std::string& name) { return Send(kube::CreateRequest(kube::kConfigMaps, ConfigMap(name), "test")); }

  FakeClock clock_;
  FakeApiServer server_{{.clock = &clock_, .history_per_kind = 4}};
  std::unique_ptr<HttpTransport> transport_ = server_.Connect("tester");
  std::string last_version_;
};

TEST_F(FakeApiServerTest, DirectWritesReachWatches) {
  const std::unique_ptr<LineStream> lines = Watch();
  ASSERT_TRUE(server_.Put(kube::kConfigMaps, ConfigMap("a")).ok());
  ASSERT_TRUE(server_.Update(kube::kConfigMaps, kA, [](Json& object) { object["data"]["x"] = "2"; }).ok());
  EXPECT_EQ(kube::StringAt(*server_.Find(kube::kConfigMaps, kA), {"data", "x"}), "2");
  EXPECT_THAT(server_.All(kube::kConfigMaps), SizeIs(1));
  ASSERT_TRUE(server_.Remove(kube::kConfigMaps, kA).ok());

  EXPECT_EQ(server_.Find(kube::kConfigMaps, kA), std::nullopt);
  EXPECT_THAT((std::vector{Next(*lines), Next(*lines), Next(*lines)}), ElementsAre("ADDED", "MODIFIED", "DELETED"));
  EXPECT_EQ(server_.Update(kube::kConfigMaps, kA, [](Json&) {}).code(), StatusCode::kNotFound);
  EXPECT_EQ(server_.Remove(kube::kConfigMaps, kA).code(), StatusCode::kNotFound);
  EXPECT_EQ(server_.Put(kube::kConfigMaps, {{"metadata", {{"name", "a"}}}}).code(), StatusCode::kInvalidArgument);
}

TEST_F(FakeApiServerTest, KeepsTheStatusThatAControllerPuts) {
  ASSERT_TRUE(server_.Put(kube::kPods, Pod("a")).ok());
  EXPECT_EQ(kube::StringAt(*server_.Find(kube::kPods, kA), {"status", "phase"}), "Running");
}

TEST_F(FakeApiServerTest, ReplacesAnObjectThatIsPutAgainAndKeepsItsUid) {
  ASSERT_TRUE(server_.Put(kube::kConfigMaps, ConfigMap("a")).ok());
  const std::string uid = UidOf(*server_.Find(kube::kConfigMaps, kA));
  ASSERT_TRUE(server_.Put(kube::kConfigMaps, ConfigMap("a", "2")).ok());
  EXPECT_EQ(UidOf(*server_.Find(kube::kConfigMaps, kA)), uid);
  EXPECT_EQ(server_.Count(kube::kConfigMaps), 1u);
}

TEST_F(FakeApiServerTest, RemovesTerminatingPodOnKubeletRequest) {
  ASSERT_TRUE(server_.Put(kube::kPods, Pod("a")).ok());
  const std::string uid = UidOf(*server_.Find(kube::kPods, kA));
  EXPECT_EQ(Send(kube::DeleteRequest(kube::kPods, kA, {.uid = uid})), 200);
  ASSERT_NE(server_.Find(kube::kPods, kA), std::nullopt);
  ASSERT_TRUE(server_.Remove(kube::kPods, kA).ok());
  EXPECT_EQ(server_.Find(kube::kPods, kA), std::nullopt);
}

TEST_F(FakeApiServerTest, InterceptorReplacesResponse) {
  server_.SetInterceptor([](const kube::HttpRequest& request, bool is_done) -> std::optional<Result<HttpResponse>> {
    if (request.method != "POST" || is_done) return std::nullopt;
    return HttpResponse{429, {{"Retry-After", "1"}}, ""};
  });
  EXPECT_EQ(Create("a"), 429);
  EXPECT_EQ(server_.Count(kube::kConfigMaps), 0u);
  server_.SetInterceptor(nullptr);
  EXPECT_EQ(Create("a"), 201);
}

TEST_F(FakeApiServerTest, InterceptorDropsResponseAfterWrite) {
  server_.SetInterceptor([](const kube::HttpRequest&, bool is_done) -> std::optional<Result<HttpResponse>> {
    if (!is_done) return std::nullopt;
    return Result<HttpResponse>(Unavailable("the connection broke"));
  });
  EXPECT_EQ(Create("a"), -static_cast<int>(StatusCode::kUnavailable));
  EXPECT_EQ(server_.Count(kube::kConfigMaps), 1u);
}

TEST_F(FakeApiServerTest, LogsUserRequestAndResponse) {
  Create("a");
  Create("a");
  const std::vector<FakeApiServer::LoggedRequest> log = server_.log();
  ASSERT_THAT(log, SizeIs(2));
  EXPECT_EQ(log[0].method, "POST");
  EXPECT_THAT(log[0].target, HasSubstr("/api/v1/namespaces/default/configmaps"));
  EXPECT_EQ(log[0].code, 201);
  EXPECT_EQ(log[1].code, 409);
  EXPECT_EQ(log[1].user_agent, "tester");
  server_.ClearLog();
  EXPECT_THAT(server_.log(), SizeIs(0));
  EXPECT_EQ(server_.num_requests(), 2);
}

TEST_F(FakeApiServerTest, CutsWatchesCleanlyOrNot) {
  const std::unique_ptr<LineStream> first = Watch();
  EXPECT_EQ(server_.num_open_watches(), 1);
  server_.CutWatches(/*broken=*/true);
  EXPECT_EQ(Next(*first), "UNAVAILABLE");
  const std::unique_ptr<LineStream> second = Watch();
  server_.CutWatches(/*broken=*/false);
  EXPECT_EQ(Next(*second), "END");
  const std::unique_ptr<LineStream> third = Watch();
  Create("a");
  EXPECT_EQ(Next(*third), "ADDED");
}

TEST_F(FakeApiServerTest, MutesWatches) {
  const std::unique_ptr<LineStream> lines = Watch({.timeout = std::chrono::seconds(60)});
  server_.MuteWatches(true);
  Create("a");
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Next(*lines), "DEADLINE_EXCEEDED");
  server_.MuteWatches(false);
  EXPECT_EQ(Next(*lines), "ADDED");
}

TEST_F(FakeApiServerTest, SendsBookmarksInTimeAndOnDemand) {
  Create("a");
  const std::unique_ptr<LineStream> lines = Watch({.timeout = std::chrono::seconds(300)});
  EXPECT_EQ(Next(*lines), "ADDED");
  const std::string version = last_version_;
  EXPECT_EQ(Next(*lines), "DEADLINE_EXCEEDED");
  clock_.Advance(std::chrono::seconds(61));
  EXPECT_EQ(Next(*lines), "BOOKMARK");
  EXPECT_EQ(last_version_, version);
  EXPECT_EQ(Next(*lines), "DEADLINE_EXCEEDED");
  ASSERT_TRUE(server_.Put(kube::kPods, Pod("p")).ok());  // another kind: only the version changes
  server_.SendBookmarks();
  EXPECT_EQ(Next(*lines), "BOOKMARK");
  EXPECT_EQ(last_version_, VersionOf(*server_.Find(kube::kPods, {"default", "p"})));
}

TEST_F(FakeApiServerTest, EndsAWatchByItsClockWithABookmark) {
  const std::unique_ptr<LineStream> lines = Watch({.timeout = std::chrono::seconds(30)});
  clock_.Advance(std::chrono::seconds(29));
  EXPECT_EQ(Next(*lines), "DEADLINE_EXCEEDED");
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Next(*lines), "BOOKMARK");
  EXPECT_EQ(Next(*lines), "END");
  EXPECT_EQ(Next(*lines), "END");
}

TEST_F(FakeApiServerTest, DropsSlowWatch) {
  const std::unique_ptr<LineStream> lines = Watch();
  for (const char* name : {"a", "b", "c", "d", "e"}) Create(name);
  EXPECT_EQ(Next(*lines), "END");
}

TEST_F(FakeApiServerTest, ExpiresVersionsBeforeHistory) {
  Create("a");
  const std::string version = VersionOf(*server_.Find(kube::kConfigMaps, kA));
  for (const char* name : {"b", "c", "d", "e", "f"}) Create(name);
  const std::unique_ptr<LineStream> lines = Watch({.resource_version = version});
  EXPECT_EQ(Next(*lines), "ERROR");
  EXPECT_EQ(Next(*lines), "END");
}

TEST_F(FakeApiServerTest, HonorsDeadlinesAndStops) {
  const kube::HttpRequest request = kube::GetRequest(kube::kConfigMaps, kA);
  EXPECT_EQ(transport_->Send(request, Deadline::After(std::chrono::nanoseconds(0), clock_)).status().code(),
            StatusCode::kDeadlineExceeded);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(transport_->Send(request, Deadline::After(std::chrono::hours(1), clock_), stop.get_token()).status().code(),
            StatusCode::kCancelled);
}

// With concurrent writers, a watch receives every change once, in the order of versions.
TEST(FakeApiServerThreadsTest, WatchReceivesChangesInOrder) {
  constexpr int kThreads = 4, kEach = 250;
  FakeApiServer server;
  const std::unique_ptr<HttpTransport> transport = server.Connect();
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  const Result<HttpTransport::Stream> stream = transport->Open(kube::WatchRequest(kube::kConfigMaps, {}), deadline);
  ASSERT_TRUE(stream.ok());
  std::vector<std::jthread> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const Json object = ConfigMap("m" + std::to_string(t) + "-" + std::to_string(i));
        const Result<HttpResponse> answer =
            transport->Send(kube::CreateRequest(kube::kConfigMaps, object, "test"), deadline);
        EXPECT_TRUE(answer.ok() && answer->code == 201);
      }
    });
  }
  int64_t last = 0;
  for (int i = 0; i < kThreads * kEach; ++i) {
    const Result<std::optional<std::string>> line = stream->lines->Next(deadline);
    ASSERT_TRUE(line.ok() && line->has_value());
    const int64_t version = std::stoll(VersionOf((*kube::ParseJson(**line))["object"]));
    EXPECT_GT(version, last);
    last = version;
  }
}

}  // namespace
}  // namespace espalier::ctl::client
