// Tests the event recorder on a fake API server: series, lost responses, expired and forbidden Events, and Stop.
#include "operator/runtime/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "operator/client/testing/fake_api_server.h"
#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;
using Answer = std::optional<Result<client::HttpResponse>>;

class EventRecorderTest : public testing::Test {
 protected:
  void Record(const std::string& reason = "Restarted") {
    kube::ObjectMeta meta;
    meta.key = {"default", "cora"};
    meta.uid = "1";
    recorder.Record(kube::kDistTrainings, meta, {EventType::kNormal, reason, "Restart", "a trainer died"});
  }
  std::vector<kube::Json> Events() const { return server.All(kube::kEvents); }
  static std::string StatusBody(int code, const std::string& reason) {
    return kube::Print(
        {{"apiVersion", "v1"}, {"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"reason", reason}});
  }
  // Responds to every request with this error and does not execute it.
  void RefuseAll(int code, const std::string& reason) {
    server.SetInterceptor([=](const kube::HttpRequest&, bool) -> Answer {
      return Result<client::HttpResponse>(client::HttpResponse{.code = code, .body = StatusBody(code, reason)});
    });
  }

  FakeClock clock;
  client::FakeApiServer server;
  std::unique_ptr<client::HttpTransport> transport = server.Connect();
  telemetry::MetricRegistry registry;
  client::ClientMetrics metrics{registry};
  client::ApiClient client{*transport, {.qps = 0}, metrics, clock};
  EventRecorder recorder{client, "espalier.io/operator", "operator-0", registry, clock};
};

TEST_F(EventRecorderTest, RepeatedEventIsSeries) {
  Record();
  recorder.WriteDue();
  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_EQ(kube::StringAt(Events()[0], {"reason"}), "Restarted");
  EXPECT_EQ(kube::Find(Events()[0], {"series"}), nullptr);

  Record();
  recorder.WriteDue();

  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_EQ(kube::IntegerAt(Events()[0], {"series", "count"}), 2);
  EXPECT_EQ(server.log().back().method, "PATCH");
}

TEST_F(EventRecorderTest, LostResponseDoesNotDuplicateEvent) {
  bool is_lost = false;
  server.SetInterceptor([&](const kube::HttpRequest&, bool is_done) -> Answer {
    if (!is_done || std::exchange(is_lost, true)) return std::nullopt;
    return Result<client::HttpResponse>(DeadlineExceeded("no answer"));
  });
  Record();
  recorder.WriteDue();
  clock.Advance(seconds(1));
  recorder.WriteDue();
  EXPECT_TRUE(is_lost);
  EXPECT_THAT(Events(), SizeIs(1));

  Record();
  recorder.WriteDue();

  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_EQ(kube::IntegerAt(Events()[0], {"series", "count"}), 2);
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_events_abandoned_total 0\n"));
}

TEST_F(EventRecorderTest, ExpiredEventIsRecreated) {
  Record();
  recorder.WriteDue();
  const std::string name = kube::StringAt(Events()[0], {"metadata", "name"});
  ASSERT_TRUE(server.Remove(kube::kEvents, {"default", name}).ok());

  Record();
  recorder.WriteDue();

  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_EQ(kube::StringAt(Events()[0], {"metadata", "name"}), name);
  EXPECT_EQ(kube::IntegerAt(Events()[0], {"series", "count"}), 2);
}

TEST_F(EventRecorderTest, ForbiddenEventIsNotRetried) {
  RefuseAll(403, "Forbidden");
  Record();
  for (int i = 0; i < 5; ++i) {
    recorder.WriteDue();
    clock.Advance(minutes(1));
  }

  EXPECT_THAT(server.log(), SizeIs(1));
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_events_abandoned_total 1\n"));
}

TEST_F(EventRecorderTest, AnEventIsTriedTwelveTimes) {
  RefuseAll(500, "InternalError");
  Record();
  for (int i = 0; i < 30; ++i) {
    recorder.WriteDue();
    clock.Advance(minutes(1));
  }

  EXPECT_THAT(server.log(), SizeIs(12));
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_events_abandoned_total 1\n"));
}

TEST_F(EventRecorderTest, FailingEventDoesNotDelayOthers) {
  server.SetInterceptor([&](const kube::HttpRequest& request, bool) -> Answer {
    if (request.body.find("Stubborn") == std::string::npos) return std::nullopt;
    return Result<client::HttpResponse>(client::HttpResponse{.code = 500, .body = StatusBody(500, "InternalError")});
  });
  Record("Stubborn");
  Record("Restarted");
  recorder.WriteDue();

  EXPECT_THAT(Events(), SizeIs(1));
}

TEST_F(EventRecorderTest, StopWritesQueuedEvents) {
  Record();
  recorder.WriteDue();
  Record();
  recorder.WriteDue();
  Record();  // due in half an hour
  Record("Suspended");
  recorder.Stop(Deadline::After(seconds(10), clock));

  ASSERT_THAT(Events(), SizeIs(2));
  EXPECT_EQ(
      std::max(kube::IntegerAt(Events()[0], {"series", "count"}), kube::IntegerAt(Events()[1], {"series", "count"})),
      3);
  Record("TooLate");
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_events_dropped_total 1\n"));
}

TEST_F(EventRecorderTest, StopEndsAtItsDeadline) {
  server.SetInterceptor([&](const kube::HttpRequest&, bool) -> Answer {
    clock.Advance(seconds(4));
    return Result<client::HttpResponse>(DeadlineExceeded("no answer"));
  });
  for (int i = 0; i < 100; ++i) Record("Reason" + std::to_string(i));

  recorder.Stop(Deadline::After(seconds(10), clock));

  EXPECT_THAT(server.log(), SizeIs(3));
}

TEST_F(EventRecorderTest, RecordDoesNotWaitForTheServer) {
  std::atomic<bool> has_asked = false;
  std::latch requested(1);
  std::latch may_answer(1);
  server.SetInterceptor([&](const kube::HttpRequest&, bool is_done) -> Answer {
    if (is_done || has_asked.exchange(true)) return std::nullopt;
    requested.count_down();
    may_answer.wait();
    return std::nullopt;
  });
  recorder.Start();
  Record("First");
  requested.wait();
  for (int i = 0; i < 2000; ++i) Record("Reason" + std::to_string(i));
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_events_dropped_total 1000\n"));

  may_answer.count_down();
  recorder.Stop(Deadline::After(minutes(1), clock));

  EXPECT_THAT(Events(), SizeIs(1001));
}

}  // namespace
}  // namespace espalier::ctl::runtime
