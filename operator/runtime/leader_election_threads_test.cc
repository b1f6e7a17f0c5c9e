#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <thread>

#include "operator/client/testing/fake_api_server.h"
#include "operator/runtime/leader_election.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const kube::ObjectKey kThreadsLease{"espalier-system", "espalier-operator"};
using Answer = std::optional<Result<client::HttpResponse>>;

// Tests the threads of leader election with the real clock. The events that tests wait for always occur.
class LeaderElectionThreadsTest : public testing::Test {
 protected:
  std::unique_ptr<LeaderElector> Elector(const std::string& identity, std::function<void()> lost) {
    return std::make_unique<LeaderElector>(client,
                                           LeaderElectionOptions{.lease = kThreadsLease,
                                                                 .identity = identity,
                                                                 .lease_duration = seconds(3),
                                                                 .renew_deadline = milliseconds(500),
                                                                 .retry_period = milliseconds(20)},
                                           std::move(lost), registry);
  }

  client::FakeApiServer server;
  std::unique_ptr<client::HttpTransport> transport = server.Connect();
  telemetry::MetricRegistry registry;
  client::ClientMetrics metrics{registry};
  client::ApiClient client{*transport, {.qps = 0, .call_timeout = milliseconds(240)}, metrics};
};

TEST_F(LeaderElectionThreadsTest, FollowerLeadsAfterRelease) {
  const auto a = Elector("a", [] {});
  const auto b = Elector("b", [] {});
  a->Start();
  ASSERT_TRUE(a->WaitToLead(Deadline::After(seconds(30))));
  b->Start();
  EXPECT_FALSE(b->WaitToLead(Deadline::After(seconds(0))));

  a->StopAndRelease();

  EXPECT_TRUE(b->WaitToLead(Deadline::After(seconds(30))));
  b->StopAndRelease();
}

TEST_F(LeaderElectionThreadsTest, LossIsReportedWhileRequestHangs) {
  std::latch lost(1);
  std::latch may_answer(1);
  const auto a = Elector("a", [&] { lost.count_down(); });
  a->Start();
  ASSERT_TRUE(a->WaitToLead(Deadline::After(seconds(30))));
  server.SetInterceptor([&](const kube::HttpRequest&, bool) -> Answer {
    may_answer.wait();
    return Result<client::HttpResponse>(Unavailable("cut"));
  });

  lost.wait();

  EXPECT_FALSE(a->is_leader());
  may_answer.count_down();
  a->StopAndRelease();
}

TEST_F(LeaderElectionThreadsTest, StopEndsWaitToLead) {
  const auto a = Elector("a", [] {});
  const auto b = Elector("b", [] {});
  ASSERT_TRUE(a->TryOnce());
  b->Start();
  std::jthread waiting([&] { EXPECT_FALSE(b->WaitToLead(Deadline::After(std::chrono::hours(1)))); });

  b->StopAndRelease();
}

}  // namespace
}  // namespace espalier::ctl::runtime
