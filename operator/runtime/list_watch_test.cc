// Tests lists and watches with scripted responses and without threads: errors, expired versions, objects that cannot be
// decoded, cancellation, and connections that become silent.
#include "operator/runtime/list_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>

#include "operator/client/testing/scripted_transport.h"
#include "operator/runtime/testing/things.h"
#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

InformerOptions Options() {
  InformerOptions options;
  options.resource = &kube::kPods;
  options.name_space = "default";
  options.label_selector = "app=x";
  return options;
}

std::string ListOf(const std::string& version, const std::vector<kube::Json>& items,
                   const std::string& continue_token = "") {
  kube::Json list = {{"kind", "PodList"},
                     {"metadata", {{"resourceVersion", version}, {"continue", continue_token}}},
                     {"items", items}};
  return kube::Print(list);
}
std::string Line(const std::string& type, const kube::Json& object) {
  return kube::Print({{"type", type}, {"object", object}});
}
std::string ErrorLine(int code, const std::string& reason) {
  return Line("ERROR", {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", "too old"}});
}
std::string StatusBody(int code, const std::string& reason) {
  return kube::Print(
      {{"apiVersion", "v1"}, {"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"reason", reason}});
}

class ListWatchTest : public testing::Test {
 protected:
  // Runs one turn that lists these items.
  void ListTo(const std::string& version, const std::vector<kube::Json>& items) {
    transport.Then(200, ListOf(version, items));
    ASSERT_TRUE(list_watch.Turn().ok());
  }
  std::string LastTarget() const { return transport.requests().back().target; }

  FakeClock clock;
  telemetry::MetricRegistry registry;
  client::ScriptedTransport transport;
  client::ClientMetrics client_metrics{registry};
  client::ApiClient client{transport, {.qps = 0}, client_metrics, clock};
  Things things;
  ListWatch list_watch{client, Options(), things.sink(), registry, clock};
};

TEST_F(ListWatchTest, ListsThenWatchesFromTheListsVersion) {
  EXPECT_FALSE(list_watch.has_synced());
  ListTo("100", {ThingJson("a", "1", "90")});
  EXPECT_TRUE(list_watch.has_synced());
  EXPECT_THAT(LastTarget(),
              AllOf(HasSubstr("limit=500"), HasSubstr("labelSelector=app%3Dx"), HasSubstr("/namespaces/default/pods")));
  EXPECT_THAT(LastTarget(), Not(HasSubstr("resourceVersion"))) << "there are no pages of version 0";

  transport.ThenStream({Line("ADDED", ThingJson("b", "2", "101")), Line("MODIFIED", ThingJson("a", "1", "102")),
                        Line("DELETED", ThingJson("b", "2", "103")),
                        Line("BOOKMARK", {{"metadata", {{"resourceVersion", "200"}}}})});
  EXPECT_TRUE(list_watch.Turn().ok());

  EXPECT_THAT(LastTarget(),
              AllOf(HasSubstr("watch=true"), HasSubstr("resourceVersion=100"), HasSubstr("allowWatchBookmarks=true")));
  EXPECT_THAT(things.changes(), ElementsAre("a ->1", "b ->2", "a 1>1", "b 2>-"));
  EXPECT_EQ(list_watch.resource_version(), "200");
  EXPECT_EQ(list_watch.delay().count(), 0);
  EXPECT_EQ(list_watch.last_error(), "");
}

TEST_F(ListWatchTest, IsSyncedAfterLastPage) {
  transport.Then(200, ListOf("100", {ThingJson("a", "1", "90")}, "more"));
  transport.Then([&](const kube::HttpRequest& request) -> Result<client::HttpResponse> {
    EXPECT_THAT(request.target, AllOf(HasSubstr("continue=more"), Not(HasSubstr("resourceVersion"))));
    EXPECT_FALSE(list_watch.has_synced());
    EXPECT_EQ(list_watch.resource_version(), "");
    return client::HttpResponse{.code = 200, .body = ListOf("100", {ThingJson("b", "2", "91")})};
  });

  EXPECT_TRUE(list_watch.Turn().ok());

  EXPECT_TRUE(list_watch.has_synced());
  EXPECT_EQ(list_watch.resource_version(), "100");
  EXPECT_EQ(things.store().size(), 2u);
}

TEST_F(ListWatchTest, RelistReportsDeletedAndRecreated) {
  ListTo("100", {ThingJson("gone", "1", "90"), ThingJson("new", "2", "91"), ThingJson("same", "3", "92")});
  transport.ThenStream({ErrorLine(410, "Expired")});
  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kOutOfRange);
  ListTo("300", {ThingJson("new", "4", "250"), ThingJson("same", "3", "92")});

  EXPECT_THAT(things.changes(), ElementsAre("gone ->1", "new ->2", "same ->3",  //
                                            "new 2>-", "new ->4", "same 3>3", "gone 1>-"));
}

TEST_F(ListWatchTest, ExpiredPageTokenRestartsList) {
  ListTo("100", {ThingJson("a", "1", "90"), ThingJson("b", "2", "91")});
  transport.ThenStream({ErrorLine(410, "Expired")});
  (void)list_watch.Turn();
  // "a" is on the first page and is deleted before the second page is requested.
  transport.Then(200, ListOf("300", {ThingJson("a", "1", "90")}, "more"));
  transport.Then(410, StatusBody(410, "Expired"));
  transport.Then(200, ListOf("400", {ThingJson("b", "2", "91")}));

  EXPECT_TRUE(list_watch.Turn().ok());

  EXPECT_EQ(things.store().Get(ThingKey("a")), nullptr);
  EXPECT_NE(things.store().Get(ThingKey("b")), nullptr);
  EXPECT_EQ(list_watch.resource_version(), "400");
}

TEST_F(ListWatchTest, ExpiredErrorEventListsNewestVersion) {
  ListTo("100", {});
  transport.ThenStream({Line("ADDED", ThingJson("a", "1", "101")), ErrorLine(410, "Expired"),
                        Line("ADDED", ThingJson("never", "9", "102"))});

  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(list_watch.last_error(), HasSubstr("too old"));
  EXPECT_EQ(list_watch.delay().count(), 0);
  ListTo("300", {ThingJson("a", "1", "101")});

  EXPECT_THAT(LastTarget(), Not(HasSubstr("resourceVersion=")));
  EXPECT_EQ(things.store().Get(ThingKey("never")), nullptr);
  EXPECT_EQ(list_watch.last_error(), "");
}

TEST_F(ListWatchTest, ExpiredAsAStatusListsTheNewest) {
  ListTo("100", {});
  transport.ThenRefuseStream(410, StatusBody(410, "Expired"));

  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kOutOfRange);
  ListTo("300", {});

  EXPECT_THAT(LastTarget(), Not(HasSubstr("resourceVersion=")));
}

TEST_F(ListWatchTest, StaleServerIsListedWithoutVersion) {
  const std::string too_large =
      R"({"apiVersion":"v1","kind":"Status","code":504,"reason":"Timeout","message":"Too large resource version",
      "details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}})";
  transport.Then(504, too_large);
  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kFailedPrecondition);
  ListTo("90", {});

  EXPECT_THAT(LastTarget(), Not(HasSubstr("resourceVersion=")));
}

TEST_F(ListWatchTest, FailedWatchKeepsObjects) {
  ListTo("100", {ThingJson("a", "1", "90")});
  const size_t requested = transport.requests().size();
  transport.ThenFailStream(FailedPrecondition("connection refused"));
  transport.ThenFailStream(FailedPrecondition("connection refused"));
  transport.ThenRefuseStream(429, StatusBody(429, "TooManyRequests"));
  transport.ThenRefuseStream(503, "<html>no backend</html>");

  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kUnavailable);
  EXPECT_GT(list_watch.delay().count(), 0);
  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kUnavailable);

  const auto requests = transport.requests();
  for (size_t i = requested; i < requests.size(); ++i) {
    EXPECT_THAT(requests[i].target, AllOf(HasSubstr("watch=true"), HasSubstr("resourceVersion=100")));
  }
  EXPECT_THAT(things.changes(), ElementsAre("a ->1"));
  EXPECT_TRUE(list_watch.has_synced());
}

TEST_F(ListWatchTest, UnreadableObjectsAreCountedAndSkipped) {
  transport.Then(200, ListOf("100", {ThingJson("a", "1", "90"), ThingJson("bad", "", "91"), {{"spec", 1}}}));
  EXPECT_TRUE(list_watch.Turn().ok());
  transport.ThenStream({"{\"type\":", "", Line("SURPRISE", ThingJson("b", "2", "101")),
                        Line("MODIFIED", ThingJson("bad", "", "102")), Line("ADDED", ThingJson("c", "3", "103"))});
  EXPECT_TRUE(list_watch.Turn().ok());

  EXPECT_THAT(things.changes(), ElementsAre("a ->1", "c ->3"));
  EXPECT_EQ(list_watch.resource_version(), "103");
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_cache_undecodable_total{resource=\"pods\"} 5\n"));
}

// One such object, for example of another tenant, must not make the list fail for all objects.
TEST_F(ListWatchTest, TooDeepObjectIsSkipped) {
  kube::Json deep = 1;
  for (int level = 0; level < 200; ++level) deep = kube::Json{{"a", std::move(deep)}};
  kube::Json object = ThingJson("deep", "9", "91");
  object["spec"]["template"] = std::move(deep);
  ListTo("100", {ThingJson("a", "1", "90"), object, ThingJson("b", "2", "92")});
  transport.ThenStream({Line("MODIFIED", object), Line("ADDED", ThingJson("c", "3", "103"))});
  EXPECT_TRUE(list_watch.Turn().ok());
  EXPECT_THAT(things.changes(), ElementsAre("a ->1", "b ->2", "c ->3"));
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_cache_undecodable_total{resource=\"pods\"} 2\n"));
}

TEST_F(ListWatchTest, UnreadableWatchIsRelisted) {
  ListTo("100", {});
  for (int i = 0; i < kMaxGarbledWatches; ++i) {
    transport.ThenStream({"<html>", "login", "</html>"});
    EXPECT_EQ(list_watch.Turn().code(), StatusCode::kUnavailable);
    EXPECT_THAT(LastTarget(), HasSubstr("watch=true"));
    EXPECT_THAT(list_watch.last_error(), HasSubstr("no line of the watch could be parsed"));
    EXPECT_GT(list_watch.delay().count(), 0);
  }
  ListTo("300", {});
  EXPECT_EQ(list_watch.last_error(), "");
}

TEST_F(ListWatchTest, UnreadableUpdateDoesNotDeleteObject) {
  ListTo("100", {ThingJson("a", "1", "90")});
  transport.ThenStream({ErrorLine(410, "Expired")});
  (void)list_watch.Turn();
  ListTo("300", {ThingJson("a", "", "250")});

  EXPECT_THAT(things.changes(), ElementsAre("a ->1"));
}

TEST_F(ListWatchTest, AVeryShortWatchIsAFailure) {
  ListTo("100", {});
  transport.ThenStream({});

  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kUnavailable);
  EXPECT_GT(list_watch.delay().count(), 0);
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_cache_failures_total{resource=\"pods\"} 1\n"));
}

TEST_F(ListWatchTest, BrokenWatchResumes) {
  ListTo("100", {});
  transport.ThenStream({Line("ADDED", ThingJson("a", "1", "101"))}, Unavailable("reset by peer"));
  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kUnavailable);
  transport.ThenStream({Line("DELETED", ThingJson("a", "1", "102"))});
  EXPECT_TRUE(list_watch.Turn().ok());

  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=101"));
  EXPECT_THAT(things.changes(), ElementsAre("a ->1", "a 1>-"));
}

TEST_F(ListWatchTest, CancelSendsNoRequests) {
  ListTo("100", {});
  list_watch.Cancel();

  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kCancelled);
  EXPECT_EQ(transport.requests().size(), 1u);
}

TEST_F(ListWatchTest, CancelEndsTheOpeningOfAWatch) {
  // Responds to lists, and blocks when a watch is opened until a stop is requested.
  class Hanging final : public client::HttpTransport {
   public:
    Result<client::HttpResponse> Send(const kube::HttpRequest&, Deadline, std::stop_token) override {
      return client::HttpResponse{.code = 200, .body = ListOf("100", {})};
    }
    Result<Stream> Open(const kube::HttpRequest&, Deadline deadline, std::stop_token stop) override {
      is_opening.count_down();
      while (!stop.stop_requested()) {
        if (deadline.HasPassed()) return DeadlineExceeded("never asked to stop");
        std::this_thread::yield();
      }
      return Cancelled("asked to stop");
    }
    std::latch is_opening{1};
  };
  Hanging hanging;
  client::ApiClient patient(hanging, {.qps = 0}, client_metrics);
  ListWatch opening(patient, Options(), things.sink(), registry);
  ASSERT_TRUE(opening.Turn().ok());
  std::jthread canceller([&] {
    hanging.is_opening.wait();
    opening.Cancel();
  });

  EXPECT_EQ(opening.Turn().code(), StatusCode::kCancelled);
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_cache_failures_total{resource=\"pods\"} 0\n"));
}

TEST_F(ListWatchTest, CancelEndsAListBetweenObjects) {
  transport.Then([&](const kube::HttpRequest&) -> Result<client::HttpResponse> {
    list_watch.Cancel();
    return client::HttpResponse{.code = 200, .body = ListOf("100", {ThingJson("a", "1", "90")}, "more")};
  });

  EXPECT_EQ(list_watch.Turn().code(), StatusCode::kCancelled);
  EXPECT_THAT(things.changes(), IsEmpty());
  EXPECT_FALSE(list_watch.WaitForSync(Deadline::At(clock.Now() + seconds(60)))) << "without a wait";
}

// Returns an empty list, and then a watch with the given lines at the given times.
class TimedTransport final : public client::HttpTransport {
 public:
  struct Step {
    seconds after;     // time since the previous step
    std::string line;  // "": no line, Next waits for its deadline
  };
  TimedTransport(FakeClock& clock, std::vector<Step> steps) : clock_(clock), steps_(std::move(steps)) {}

  Result<client::HttpResponse> Send(const kube::HttpRequest&, Deadline, std::stop_token) override {
    return client::HttpResponse{.code = 200, .body = ListOf("100", {})};
  }
  Result<Stream> Open(const kube::HttpRequest& request, Deadline, std::stop_token) override {
    target = request.target;
    return Stream{client::HttpResponse{.code = 200}, std::make_unique<TimedStream>(clock_, steps_, is_cancelled)};
  }

  std::string target;
  bool is_cancelled = false;

 private:
  class TimedStream final : public client::LineStream {
   public:
    TimedStream(FakeClock& clock, const std::vector<Step>& steps, bool& is_cancelled)
        : clock_(clock), steps_(steps), is_cancelled_(is_cancelled) {}
    Result<std::optional<std::string>> Next(Deadline deadline) override {
      const Step& step = steps_[std::min(next_, steps_.size() - 1)];
      if (step.line.empty() || clock_.Now() + step.after >= deadline.time()) {
        clock_.Advance(deadline.time() - clock_.Now());
        return DeadlineExceeded("nothing came");
      }
      clock_.Advance(step.after);
      ++next_;
      return std::optional(step.line);
    }
    void Cancel() override { is_cancelled_ = true; }

   private:
    FakeClock& clock_;
    const std::vector<Step>& steps_;
    bool& is_cancelled_;
    size_t next_ = 0;
  };

  FakeClock& clock_;
  const std::vector<Step> steps_;
};

class DeadConnectionTest : public testing::Test {
 protected:
  // Returns how long it takes until the watch is given up.
  seconds LengthOfWatch(std::vector<TimedTransport::Step> steps, uint64_t seed = 1) {
    TimedTransport transport(clock, std::move(steps));
    client::ApiClient client(transport, {.qps = 0}, client_metrics, clock);
    Things things;
    InformerOptions options = Options();
    options.seed = seed;
    ListWatch list_watch(client, options, things.sink(), registry, clock);
    EXPECT_TRUE(list_watch.Turn().ok());
    const SteadyTime begin = clock.Now();
    EXPECT_EQ(list_watch.Turn().code(), StatusCode::kUnavailable);
    EXPECT_TRUE(transport.is_cancelled) << "the connection must not be left open";
    const size_t at = transport.target.find("timeoutSeconds=");
    EXPECT_NE(at, std::string::npos);
    requested = seconds(std::stoi(transport.target.substr(at + 15)));
    return std::chrono::duration_cast<seconds>(clock.Now() - begin);
  }

  FakeClock clock;
  telemetry::MetricRegistry registry;
  client::ClientMetrics client_metrics{registry};
  seconds requested{0};  // timeoutSeconds of the request
};

TEST_F(DeadConnectionTest, SilenceIsDetectedFiveSecondsAfterWatchTimeout) {
  std::set<seconds> lengths;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const seconds length = LengthOfWatch({{seconds(0), ""}}, seed);
    EXPECT_EQ(length, requested + seconds(5));
    EXPECT_GE(requested, seconds(45));
    EXPECT_LE(requested, seconds(75));
    lengths.insert(requested);
  }
  EXPECT_GT(lengths.size(), 5u) << "watches must not all end together";
}

TEST_F(DeadConnectionTest, BrokenConnectionIsDetectedWithinNinetySeconds) {
  const std::string line = Line("ADDED", ThingJson("a", "1", "101"));
  const seconds length = LengthOfWatch({{seconds(40), line}, {seconds(0), ""}});

  EXPECT_EQ(length, requested + seconds(5));
  EXPECT_LT(length - seconds(40), seconds(90));
}

TEST_F(DeadConnectionTest, GarbageIsDetected) {
  std::vector<TimedTransport::Step> steps(50, {seconds(4), "nonsense"});

  const seconds length = LengthOfWatch(std::move(steps));

  EXPECT_EQ(length, requested + seconds(5));
}

TEST_F(DeadConnectionTest, ActiveServerIsNotDead) {
  const std::string line = Line("MODIFIED", ThingJson("a", "1", "101"));
  std::vector<TimedTransport::Step> steps(50, {seconds(4), line});
  steps.push_back({seconds(0), ""});

  EXPECT_EQ(LengthOfWatch(std::move(steps)), seconds(50 * 4 + 5));
}

}  // namespace
}  // namespace espalier::ctl::runtime
