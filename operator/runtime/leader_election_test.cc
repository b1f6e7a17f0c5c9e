// Tests leader election with two candidates, each with its own fake clock, and without threads: taking, renewing,
// losing and releasing the Lease, with requests that fail, hang or lose their response.
#include "operator/runtime/leader_election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "operator/client/testing/fake_api_server.h"
#include "operator/client/testing/scripted_transport.h"
#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const kube::ObjectKey kLease{"espalier-system", "espalier-operator"};
using Answer = std::optional<Result<client::HttpResponse>>;

// A candidate process. It has its own clock, like a process on another machine.
struct Candidate {
  Candidate(client::FakeApiServer& server, const std::string& identity) : transport(server.Connect()) {
    elector = std::make_unique<LeaderElector>(
        client, LeaderElectionOptions{.lease = kLease, .identity = identity}, [this] { ++num_losses; }, registry,
        clock);
  }
  void Pass(std::chrono::nanoseconds time) { clock.Advance(time); }

  FakeClock clock;
  telemetry::MetricRegistry registry;
  client::ClientMetrics metrics{registry};
  std::unique_ptr<client::HttpTransport> transport;
  client::ApiClient client{*transport, {.qps = 0, .call_timeout = milliseconds(2500)}, metrics, clock};
  int num_losses = 0;
  std::unique_ptr<LeaderElector> elector;
};

class LeaderElectionTest : public testing::Test {
 protected:
  kube::Json Lease() {
    const auto lease = server.Find(kube::kLeases, kLease);
    return lease ? *lease : kube::Json();
  }
  std::string Holder() { return kube::StringAt(Lease(), {"spec", "holderIdentity"}); }
  int64_t Transitions() { return kube::IntegerAt(Lease(), {"spec", "leaseTransitions"}).value_or(-1); }
  void PassForBoth(std::chrono::nanoseconds time) {
    a.Pass(time);
    b.Pass(time);
  }
  // Sets the interceptor for requests (FakeApiServer::Interceptor).
  void Disturb(std::function<Answer(const kube::HttpRequest&, bool is_done)> disturb) {
    server.SetInterceptor(std::move(disturb));
  }

  client::FakeApiServer server;
  Candidate a{server, "a"};
  Candidate b{server, "b"};
};

TEST_F(LeaderElectionTest, FirstCandidateCreatesLeaseAndLeads) {
  EXPECT_FALSE(a.elector->is_leader());
  EXPECT_TRUE(a.elector->TryOnce());
  EXPECT_FALSE(b.elector->TryOnce());

  EXPECT_TRUE(a.elector->is_leader());
  EXPECT_FALSE(b.elector->is_leader());
  EXPECT_EQ(b.elector->holder(), "a");
  EXPECT_EQ(Holder(), "a");
  EXPECT_EQ(kube::IntegerAt(Lease(), {"spec", "leaseDurationSeconds"}), 10);
  EXPECT_THAT(kube::StringAt(Lease(), {"spec", "renewTime"}),
              testing::MatchesRegex("20[0-9-]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z"))
      << "a MicroTime";
  EXPECT_THAT(a.registry.Serialize(), HasSubstr("leader_election_master_status{name=\"espalier-operator\"} 1\n"));
  EXPECT_THAT(b.registry.Serialize(), HasSubstr("leader_election_master_status{name=\"espalier-operator\"} 0\n"));
}

TEST_F(LeaderElectionTest, RenewalKeepsLease) {
  ASSERT_TRUE(a.elector->TryOnce());
  for (int i = 0; i < 50; ++i) {
    PassForBoth(seconds(2));
    EXPECT_TRUE(a.elector->TryOnce());
    EXPECT_FALSE(b.elector->TryOnce());
  }
  EXPECT_EQ(Transitions(), 0);
  EXPECT_EQ(a.num_losses, 0);
}

TEST_F(LeaderElectionTest, LeaseExpiresByClockOfObserver) {
  ASSERT_TRUE(a.elector->TryOnce());
  b.Pass(seconds(100));  // does not count: b has not seen the Lease yet
  EXPECT_FALSE(b.elector->TryOnce());
  b.Pass(milliseconds(9999));
  EXPECT_FALSE(b.elector->TryOnce());

  b.Pass(milliseconds(1));

  EXPECT_TRUE(b.elector->TryOnce());
  EXPECT_EQ(Holder(), "b");
  EXPECT_EQ(Transitions(), 1);
}

TEST_F(LeaderElectionTest, IgnoresTimesInLease) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_FALSE(b.elector->TryOnce());
  // A renewal by a leader whose clock is years behind.
  ASSERT_TRUE(server
                  .Update(kube::kLeases, kLease,
                          [](kube::Json& lease) { lease["spec"]["renewTime"] = "1999-01-01T00:00:00.000000Z"; })
                  .ok());
  b.Pass(seconds(9));
  EXPECT_FALSE(b.elector->TryOnce());
  b.Pass(seconds(9));
  EXPECT_FALSE(b.elector->TryOnce()) << "it changed 9 s ago";
  b.Pass(seconds(1));
  EXPECT_TRUE(b.elector->TryOnce());
}

TEST_F(LeaderElectionTest, LabelChangeIsNoRenewal) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_FALSE(b.elector->TryOnce());
  b.Pass(seconds(9));
  ASSERT_TRUE(
      server.Update(kube::kLeases, kLease, [](kube::Json& lease) { lease["metadata"]["labels"]["x"] = "y"; }).ok());
  EXPECT_FALSE(b.elector->TryOnce());
  b.Pass(seconds(1));

  EXPECT_TRUE(b.elector->TryOnce());
  EXPECT_EQ(kube::StringAt(Lease(), {"metadata", "labels", "x"}), "y") << "and stays";
}

TEST_F(LeaderElectionTest, RespectsLongerTermOfHolder) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_TRUE(
      server.Update(kube::kLeases, kLease, [](kube::Json& lease) { lease["spec"]["leaseDurationSeconds"] = 60; }).ok());
  ASSERT_FALSE(b.elector->TryOnce());
  b.Pass(seconds(59));
  EXPECT_FALSE(b.elector->TryOnce());
  b.Pass(seconds(1));
  EXPECT_TRUE(b.elector->TryOnce());
}

TEST_F(LeaderElectionTest, OneOfTwoAcquiresExpiredLease) {
  Candidate c(server, "c");
  ASSERT_TRUE(c.elector->TryOnce());
  ASSERT_FALSE(a.elector->TryOnce());
  ASSERT_FALSE(b.elector->TryOnce());
  PassForBoth(seconds(10));
  // b takes the Lease after a has read it and before a writes it.
  bool is_in_between = false;
  Disturb([&](const kube::HttpRequest& request, bool is_done) -> Answer {
    if (request.method == "PUT" && !is_done && !std::exchange(is_in_between, true)) {
      EXPECT_TRUE(b.elector->TryOnce());
    }
    return std::nullopt;
  });

  EXPECT_FALSE(a.elector->TryOnce());

  EXPECT_EQ(Holder(), "b");
  EXPECT_FALSE(a.elector->TryOnce());
}

TEST_F(LeaderElectionTest, OneOfTwoCreatesLease) {
  bool is_in_between = false;
  Disturb([&](const kube::HttpRequest& request, bool is_done) -> Answer {
    if (request.method == "POST" && !is_done && !std::exchange(is_in_between, true)) {
      EXPECT_TRUE(b.elector->TryOnce());
    }
    return std::nullopt;
  });

  EXPECT_FALSE(a.elector->TryOnce());
  EXPECT_EQ(Holder(), "b");
}

TEST_F(LeaderElectionTest, LosesOnceAtRenewDeadline) {
  ASSERT_TRUE(a.elector->TryOnce());
  Disturb([](const kube::HttpRequest&, bool) -> Answer { return Result<client::HttpResponse>(Unavailable("cut")); });
  a.Pass(milliseconds(6999));
  EXPECT_TRUE(a.elector->TryOnce());
  EXPECT_TRUE(a.elector->is_leader());
  EXPECT_EQ(a.num_losses, 0);

  a.Pass(milliseconds(1));

  EXPECT_FALSE(a.elector->is_leader()) << "before any call";
  a.elector->CheckRenewDeadline();
  EXPECT_EQ(a.num_losses, 1);
  a.elector->CheckRenewDeadline();
  Disturb(nullptr);
  EXPECT_FALSE(a.elector->TryOnce()) << "there is no way back";
  EXPECT_EQ(a.num_losses, 1);
  EXPECT_THAT(a.registry.Serialize(), HasSubstr("leader_election_master_status{name=\"espalier-operator\"} 0\n"));
}

// Renewed at 0 s; the next renewal hangs from 2 s to 4.5 s; the one after it starts at 4.5 s and has time until 7 s.
TEST_F(LeaderElectionTest, HangingRenewalLeavesTimeForRetry) {
  ASSERT_TRUE(a.elector->TryOnce());
  a.clock.Advance(a.elector->NextTryAt() - a.clock.Now());
  bool has_hung = false;
  Disturb([&](const kube::HttpRequest&, bool) -> Answer {
    if (std::exchange(has_hung, true)) return std::nullopt;
    a.Pass(milliseconds(2500));
    return Result<client::HttpResponse>(DeadlineExceeded("no response in time"));
  });
  ASSERT_TRUE(a.elector->TryOnce()) << "it leads on, not renewed";

  ASSERT_LE(a.elector->NextTryAt(), a.clock.Now()) << "the next try begins at once";
  ASSERT_TRUE(a.elector->TryOnce());
  a.Pass(milliseconds(6999));

  EXPECT_TRUE(a.elector->is_leader()) << "renewed 4.5 s after the first";
  EXPECT_EQ(a.num_losses, 0);
}

TEST(LeaseCallTimeoutTest, TwoTriesFitBeforeTheRenewDeadline) {
  const auto timeout_of = [](milliseconds renew_deadline, milliseconds retry_period) {
    return LeaseCallTimeout({.renew_deadline = renew_deadline, .retry_period = retry_period});
  };
  EXPECT_EQ(timeout_of(seconds(7), seconds(2)), milliseconds(2500));
  EXPECT_EQ(timeout_of(seconds(3), seconds(1)), seconds(1));
  EXPECT_EQ(timeout_of(seconds(5), seconds(2)), seconds(1)) << "the second at 4 s: not at once, the first is short";
}

TEST_F(LeaderElectionTest, FollowersTryWithJitter) {
  ASSERT_TRUE(a.elector->TryOnce());
  const SteadyTime begin = a.clock.Now();
  ASSERT_TRUE(a.elector->TryOnce());
  EXPECT_EQ(a.elector->NextTryAt(), begin + seconds(2));
  const SteadyTime other = b.clock.Now();
  ASSERT_FALSE(b.elector->TryOnce());
  EXPECT_GE(b.elector->NextTryAt(), other + seconds(2));
  EXPECT_LT(b.elector->NextTryAt(), other + seconds(3));
}

// `lost` is called before the loss is logged, and thus also if logging blocks.
TEST_F(LeaderElectionTest, CallbackPrecedesLogOfLoss) {
  std::string logged_before = "the callback was not called";
  client::ApiClient client(*a.transport, {.qps = 0, .call_timeout = seconds(1)}, a.metrics, a.clock);
  telemetry::MetricRegistry registry;
  LeaderElector elector(
      client, {.lease = kLease, .identity = "c"}, [&] { logged_before = testing::internal::GetCapturedStderr(); },
      registry, a.clock);
  ASSERT_TRUE(elector.TryOnce());
  a.Pass(seconds(7));
  testing::internal::CaptureStderr();

  elector.CheckRenewDeadline();

  EXPECT_EQ(logged_before, "");
}

TEST_F(LeaderElectionTest, TermStartsBeforeRenewalIsSent) {
  ASSERT_TRUE(a.elector->TryOnce());
  a.Pass(seconds(2));
  Disturb([&](const kube::HttpRequest& request, bool is_done) -> Answer {
    if (request.method == "PUT" && is_done) a.Pass(seconds(2));  // a slow response
    return std::nullopt;
  });
  ASSERT_TRUE(a.elector->TryOnce());
  Disturb(nullptr);

  a.Pass(milliseconds(4999));
  EXPECT_TRUE(a.elector->is_leader());
  a.Pass(milliseconds(1));
  EXPECT_FALSE(a.elector->is_leader());
}

TEST_F(LeaderElectionTest, LateResponseDoesNotUndoLoss) {
  ASSERT_TRUE(a.elector->TryOnce());
  a.Pass(seconds(6));
  Disturb([&](const kube::HttpRequest& request, bool is_done) -> Answer {
    if (request.method != "PUT" || !is_done) return std::nullopt;
    a.Pass(seconds(1));
    a.elector->CheckRenewDeadline();  // as the second thread does
    return std::nullopt;
  });

  EXPECT_FALSE(a.elector->TryOnce());
  EXPECT_EQ(a.num_losses, 1);
}

TEST_F(LeaderElectionTest, LeadersNeverOverlap) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_FALSE(b.elector->TryOnce());
  Disturb([&](const kube::HttpRequest& request, bool) -> Answer {
    // Requests of a fail.
    if (request.body.find("\"holderIdentity\":\"a\"") == std::string::npos) return std::nullopt;
    return Result<client::HttpResponse>(Unavailable("cut"));
  });
  bool b_leads = false;
  for (int half_seconds = 1; half_seconds <= 30; ++half_seconds) {
    PassForBoth(milliseconds(500));
    const bool a_leads = a.elector->is_leader();
    b_leads = b.elector->TryOnce();
    EXPECT_FALSE(a_leads && b_leads) << "after " << half_seconds << " half seconds";
  }
  EXPECT_TRUE(b_leads);
}

TEST_F(LeaderElectionTest, OtherHolderIsImmediateLoss) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_TRUE(
      server.Update(kube::kLeases, kLease, [](kube::Json& lease) { lease["spec"]["holderIdentity"] = "admin"; }).ok());
  a.Pass(seconds(2));

  EXPECT_FALSE(a.elector->TryOnce());
  EXPECT_EQ(a.num_losses, 1);
  EXPECT_EQ(Holder(), "admin");
}

TEST_F(LeaderElectionTest, ConflictWithSameHolderIsRetried) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_TRUE(
      server.Update(kube::kLeases, kLease, [](kube::Json& lease) { lease["metadata"]["labels"]["x"] = "y"; }).ok());
  a.Pass(seconds(6));
  ASSERT_TRUE(a.elector->TryOnce());
  a.Pass(seconds(6));

  EXPECT_TRUE(a.elector->is_leader()) << "it was renewed 6 s ago";
}

TEST_F(LeaderElectionTest, LostRenewalResponseIsNoLoss) {
  ASSERT_TRUE(a.elector->TryOnce());
  bool is_lost = false;
  Disturb([&](const kube::HttpRequest& request, bool is_done) -> Answer {
    if (request.method != "PUT" || !is_done || std::exchange(is_lost, true)) return std::nullopt;
    return Result<client::HttpResponse>(DeadlineExceeded("no answer"));
  });
  a.Pass(seconds(2));
  a.elector->TryOnce();
  a.Pass(seconds(2));
  ASSERT_TRUE(a.elector->TryOnce());
  a.Pass(seconds(6));

  EXPECT_TRUE(a.elector->is_leader());
  EXPECT_EQ(Transitions(), 0);
}

TEST_F(LeaderElectionTest, DeletedLeaseIsRecreated) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_TRUE(server.Remove(kube::kLeases, kLease).ok());
  a.Pass(seconds(2));

  EXPECT_TRUE(a.elector->TryOnce());
  EXPECT_EQ(Holder(), "a");
  EXPECT_EQ(a.num_losses, 0);
}

// The leader continues to lead until it notices the deletion.
TEST_F(LeaderElectionTest, DeletedLeaseIsNotAcquiredBeforeTermEnds) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_FALSE(b.elector->TryOnce());
  ASSERT_TRUE(server.Remove(kube::kLeases, kLease).ok());
  PassForBoth(seconds(2));
  EXPECT_FALSE(b.elector->TryOnce());
  EXPECT_EQ(Holder(), "");
  EXPECT_TRUE(a.elector->is_leader());
  EXPECT_TRUE(a.elector->TryOnce());
  EXPECT_EQ(Holder(), "a");
  ASSERT_TRUE(server.Remove(kube::kLeases, kLease).ok());
  PassForBoth(seconds(10));  // a does not renew
  EXPECT_TRUE(b.elector->TryOnce());
  EXPECT_EQ(Holder(), "b");
}

TEST_F(LeaderElectionTest, ReleasedLeaseIsAcquiredAtOnce) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_FALSE(b.elector->TryOnce());

  a.elector->StopAndRelease();

  EXPECT_EQ(Holder(), "");
  EXPECT_EQ(kube::IntegerAt(Lease(), {"spec", "leaseDurationSeconds"}), 1);
  EXPECT_FALSE(a.elector->is_leader());
  EXPECT_TRUE(b.elector->TryOnce());
  EXPECT_FALSE(a.elector->TryOnce()) << "it has stopped";
  a.elector->StopAndRelease();
  EXPECT_EQ(Holder(), "b");
  EXPECT_EQ(Transitions(), 1);
  EXPECT_EQ(a.num_losses, 0);
}

TEST_F(LeaderElectionTest, ReleaseReadsAgainAfterAConflict) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_TRUE(
      server.Update(kube::kLeases, kLease, [](kube::Json& lease) { lease["metadata"]["labels"]["x"] = "y"; }).ok());

  a.elector->StopAndRelease();

  EXPECT_EQ(Holder(), "");
  EXPECT_EQ(kube::StringAt(Lease(), {"metadata", "labels", "x"}), "y");
}

TEST_F(LeaderElectionTest, FollowerReleasesNothing) {
  ASSERT_TRUE(a.elector->TryOnce());
  ASSERT_FALSE(b.elector->TryOnce());

  b.elector->StopAndRelease();

  EXPECT_EQ(Holder(), "a");
}

TEST_F(LeaderElectionTest, FormerLeaderReleasesNothing) {
  ASSERT_TRUE(a.elector->TryOnce());
  a.Pass(seconds(7));
  a.elector->CheckRenewDeadline();
  ASSERT_EQ(a.num_losses, 1);

  a.elector->StopAndRelease();

  EXPECT_EQ(Holder(), "a") << "there may be writes under way";
}

TEST_F(LeaderElectionTest, LivenessFailsIfLeaderIsStuckBeyondLease) {
  EXPECT_TRUE(a.elector->IsHealthy(seconds(20)));
  ASSERT_TRUE(a.elector->TryOnce());
  a.Pass(milliseconds(29999));
  EXPECT_TRUE(a.elector->IsHealthy(seconds(20)));
  a.Pass(milliseconds(1));
  EXPECT_FALSE(a.elector->IsHealthy(seconds(20)));
  a.elector->CheckRenewDeadline();
  EXPECT_FALSE(a.elector->IsHealthy(seconds(20))) << "it should have ended";
}

TEST_F(LeaderElectionTest, WaitToLeadEndsAtItsDeadline) {
  ASSERT_TRUE(a.elector->TryOnce());
  EXPECT_TRUE(a.elector->WaitToLead(Deadline::At(a.clock.Now())));
  EXPECT_FALSE(b.elector->WaitToLead(Deadline::At(b.clock.Now())));
}

TEST(ParseLeaseTest, ReadsPresentFields) {
  const kube::Json lease = {{"metadata", {{"name", "x"}, {"resourceVersion", "7"}}},
                            {"spec",
                             {{"holderIdentity", "a"},
                              {"leaseDurationSeconds", 15},
                              {"leaseTransitions", 3},
                              {"acquireTime", "2026-01-02T03:04:05.000006Z"},
                              {"renewTime", "2026-01-02T03:05:05.000000Z"}}}};

  const Result<LeaseRecord> record = ParseLease(lease);

  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->holder, "a");
  EXPECT_EQ(record->duration_seconds, 15);
  EXPECT_EQ(record->transitions, 3);
  EXPECT_EQ(kube::FormatMicroTime(record->acquired_at), "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(record->renewed_at - record->acquired_at, seconds(60) - std::chrono::microseconds(6));
  EXPECT_EQ(record->resource_version, "7");
}

TEST(ParseLeaseTest, ToleratesMalformedLease) {
  for (const kube::Json& object : {kube::Json(), kube::Json(3), kube::Json::array(), kube::Json::object(),
                                   kube::Json{{"metadata", "x"}}, kube::Json{{"metadata", {{"resourceVersion", 7}}}}}) {
    EXPECT_EQ(ParseLease(object).status().code(), StatusCode::kInvalidArgument) << object;
  }
  const Result<LeaseRecord> record = ParseLease(
      {{"metadata", {{"resourceVersion", "7"}}}, {"spec", {{"holderIdentity", 3}, {"renewTime", "yesterday"}}}});
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(*record, LeaseRecord{.resource_version = "7"});
}

TEST(LeaderElectionDeathTest, InconsistentTermsAreFatal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  client::ScriptedTransport transport;
  telemetry::MetricRegistry registry;
  client::ClientMetrics metrics(registry);
  client::ApiClient slow(transport, {.call_timeout = seconds(30)}, metrics);
  client::ApiClient quick(transport, {.call_timeout = milliseconds(2500)}, metrics);
  client::ApiClient not_quick_enough(transport, {.call_timeout = milliseconds(2501)}, metrics);
  const auto elect = [&](client::ApiClient& client, LeaderElectionOptions options) {
    LeaderElector elector(
        client, options, [] {}, registry);
  };

  EXPECT_DEATH(elect(slow, {.lease = kLease, .identity = "a"}), "call_timeout");
  EXPECT_DEATH(elect(not_quick_enough, {.lease = kLease, .identity = "a"}), "call_timeout");
  EXPECT_DEATH(elect(quick, {.lease = kLease, .identity = "a", .renew_deadline = seconds(10)}), "renew_deadline");
  EXPECT_DEATH(elect(quick, {.lease = kLease, .identity = "a", .retry_period = milliseconds(3500)}), "retry_period");
  EXPECT_DEATH(elect(quick, {.lease = kLease}), "identity");
}

}  // namespace
}  // namespace espalier::ctl::runtime
