#include "services/server/applied_writes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/fake_clock.h"
#include "services/server/apply_once.h"

namespace espalier::server {
namespace {

using Claim = AppliedWrites::Claim;

constexpr std::chrono::minutes kCall{1};
constexpr uint64_t kClients = 100;

// Claims a change of a call whose deadline is kCall from now.
Claim Try(AppliedWrites& applied, const AppliedWrites::Number& change, Clock& clock = Clock::Real()) {
  return applied.TryClaim(change, Deadline::After(kCall, clock));
}

void Apply(AppliedWrites& applied, const AppliedWrites::Number& change, Clock& clock = Clock::Real()) {
  ASSERT_EQ(Try(applied, change, clock), Claim::kTaken);
  applied.MarkApplied(change);
}

TEST(AppliedWritesTest, RecordsAppliedChanges) {
  AppliedWrites applied;
  Apply(applied, {1, 7});
  EXPECT_EQ(Try(applied, {1, 7}), Claim::kApplied);
  Apply(applied, {1, 6});
  Apply(applied, {2, 7});
}

TEST(AppliedWritesTest, OneAttemptAppliesChangeAtATime) {
  AppliedWrites applied;
  EXPECT_EQ(Try(applied, {1, 7}), Claim::kTaken);
  EXPECT_EQ(Try(applied, {1, 7}), Claim::kUnderWay);
  applied.MarkFailed({1, 7});
  EXPECT_EQ(Try(applied, {1, 7}), Claim::kTaken);
  applied.MarkApplied({1, 7});
  EXPECT_EQ(Try(applied, {1, 7}), Claim::kApplied);
}

// Change 3 is in flight for a long time: it is applied once when it arrives, even after many changes with higher
// numbers.
TEST(AppliedWritesTest, RunningChangeIsNeverTooOld) {
  AppliedWrites applied;
  for (uint64_t sequence = 4; sequence < 3 + AppliedWrites::kWindow - 1; ++sequence) Apply(applied, {1, sequence, 3});
  EXPECT_EQ(Try(applied, {1, 4 + AppliedWrites::kWindow, 3}), Claim::kTooMany);
  Apply(applied, {1, 3, 3});
  EXPECT_EQ(Try(applied, {1, 3, 3}), Claim::kApplied);
  Apply(applied, {1, 4 + AppliedWrites::kWindow, 4 + AppliedWrites::kWindow});
}

TEST(AppliedWritesTest, RefusesAbandonedChanges) {
  AppliedWrites applied;
  Apply(applied, {1, 5, 5});
  EXPECT_EQ(Try(applied, {1, 4, 4}), Claim::kObsolete);
  EXPECT_EQ(Try(applied, {1, 5, 5}), Claim::kApplied);
  Apply(applied, {1, 9, 8});
  EXPECT_EQ(Try(applied, {1, 5, 5}), Claim::kObsolete);
  EXPECT_EQ(Try(applied, {1, 7, 6}), Claim::kObsolete);
  Apply(applied, {1, 8, 8});
  Apply(applied, {2, 4, 4});  // each client has its own numbers
}

// A worker still applies change 1, which the client has given up. Change 2 must wait, or change 1 would overwrite it.
TEST(AppliedWritesTest, LaterChangesWaitForAbandonedOne) {
  AppliedWrites applied;
  ASSERT_EQ(Try(applied, {1, 1, 1}), Claim::kTaken);
  EXPECT_EQ(Try(applied, {1, 2, 2}), Claim::kUnderWay);
  applied.MarkApplied({1, 1, 1});
  Apply(applied, {1, 2, 2});
  EXPECT_EQ(Try(applied, {1, 1, 1}), Claim::kObsolete);
}

TEST(AppliedWritesTest, InvalidNumbersDoNotAffectOtherClients) {
  AppliedWrites applied;
  constexpr uint64_t kLast = ~uint64_t{0};
  EXPECT_EQ(Try(applied, {1, 3, kLast}), Claim::kObsolete);
  Apply(applied, {1, kLast, kLast});
  EXPECT_EQ(Try(applied, {2, kLast, 0}), Claim::kTooMany);
  Apply(applied, {2, 1, 1});
}

// Fills all slots with clients, each of which may still repeat its change 1.
void Fill(AppliedWrites& applied, Clock& clock) {
  for (uint64_t client = 0; client < kClients; ++client) Apply(applied, {client, 1, 1}, clock);
}

TEST(AppliedWritesTest, ClientThatMayRetryIsKept) {
  FakeClock clock;
  AppliedWrites applied(kClients, clock);
  Fill(applied, clock);
  EXPECT_EQ(Try(applied, {kClients, 1, 1}, clock), Claim::kFull);
  EXPECT_EQ(Try(applied, {0, 1, 1}, clock), Claim::kApplied);
  Apply(applied, {1, 2, 2}, clock);  // a known client continues
  clock.Advance(kCall + AppliedWrites::kMaxMessageDelay - std::chrono::nanoseconds(1));
  EXPECT_EQ(Try(applied, {kClients, 1, 1}, clock), Claim::kFull);
}

TEST(AppliedWritesTest, EvictsLongestIdleClient) {
  FakeClock clock;
  AppliedWrites applied(kClients, clock);
  Fill(applied, clock);
  clock.Advance(kCall);
  Apply(applied, {0, 2, 2}, clock);  // an old client that still writes
  ASSERT_EQ(applied.TryClaim({1, 1, 1}, Deadline::After(std::chrono::hours(1), clock)), Claim::kApplied);
  clock.Advance(AppliedWrites::kMaxMessageDelay);
  Apply(applied, {kClients, 1, 1}, clock);
  EXPECT_EQ(Try(applied, {0, 2, 2}, clock), Claim::kApplied);
  EXPECT_EQ(Try(applied, {1, 1, 1}, clock), Claim::kApplied);
  EXPECT_EQ(Try(applied, {3, 1, 1}, clock), Claim::kApplied);
  EXPECT_EQ(Try(applied, {2, 1, 1}, clock), Claim::kTaken);
}

TEST(AppliedWritesTest, ClientsWithoutDeadlineExpire) {
  FakeClock clock;
  AppliedWrites applied(1, clock);
  const Deadline in_a_year = Deadline::After(std::chrono::hours(24 * 365), clock);
  ASSERT_EQ(applied.TryClaim({0, 1, 1}, in_a_year), Claim::kTaken);
  applied.MarkApplied({0, 1, 1});
  clock.Advance(AppliedWrites::kMaxCallTime);
  EXPECT_EQ(Try(applied, {1, 1, 1}, clock), Claim::kFull);
  clock.Advance(AppliedWrites::kMaxMessageDelay);
  EXPECT_EQ(Try(applied, {1, 1, 1}, clock), Claim::kTaken);
}

TEST(AppliedWritesTest, ClientWithRunningChangeIsKept) {
  FakeClock clock;
  AppliedWrites applied(kClients, clock);
  for (uint64_t client = 0; client < kClients; ++client) {
    ASSERT_EQ(Try(applied, {client, 1, 1}, clock), Claim::kTaken);
  }
  clock.Advance(kCall + AppliedWrites::kMaxMessageDelay);
  EXPECT_EQ(Try(applied, {kClients, 1, 1}, clock), Claim::kFull);
  EXPECT_EQ(Try(applied, {0, 1, 1}, clock), Claim::kUnderWay);
  applied.MarkApplied({1, 1, 1});
  Apply(applied, {kClients, 1, 1}, clock);
  EXPECT_EQ(Try(applied, {0, 1, 1}, clock), Claim::kUnderWay);
}

TEST(ApplyOnceTest, NewClientMustRetryWhenFull) {
  FakeClock clock;
  AppliedWrites applied(kClients, clock);
  Fill(applied, clock);
  tensor::v1::Change change;
  change.set_client_id(kClients);
  change.set_sequence(1);
  int applications = 0;
  const auto arrive = [&] {
    return ApplyOnce(
        applied, change, Deadline::After(kCall, clock),
        [&](const sampler::DoneStatus& done) {
          ++applications;
          done(Status());
        },
        [](const Status& status) { EXPECT_EQ(status, Status()); });
  };
  EXPECT_EQ(arrive().code(), StatusCode::kUnavailable);
  EXPECT_EQ(applications, 0);
  clock.Advance(kCall + AppliedWrites::kMaxMessageDelay);
  EXPECT_EQ(arrive(), Status());
  EXPECT_EQ(arrive(), Status());
  EXPECT_EQ(applications, 1);
}

}  // namespace
}  // namespace espalier::server
