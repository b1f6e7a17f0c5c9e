#include "services/rpc/replica_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/fake_clock.h"

namespace espalier::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr ReplicaBackoff kRest{.first = milliseconds(500), .longest = milliseconds(2000)};

class ReplicaChoiceTest : public ::testing::Test {
 protected:
  // Makes successive calls, each answered.
  std::vector<size_t> Picks(ReplicaChoice& choice, size_t count) {
    std::vector<size_t> picked;
    for (size_t i = 0; i < count; ++i) {
      picked.push_back(choice.Pick());
      choice.RecordResponse(picked.back());
    }
    return picked;
  }
  // Makes a call to the chosen server, which is unreachable; returns its index.
  size_t CallUnreachable(ReplicaChoice& choice) {
    const size_t server = choice.Pick();
    choice.RecordUnreachable(server);
    return server;
  }

  FakeClock clock_;
};

TEST_F(ReplicaChoiceTest, UsesReplicasInTurn) {
  ReplicaChoice choice({false, false, false}, kRest, clock_);
  EXPECT_THAT(Picks(choice, 7), ElementsAre(0, 1, 2, 0, 1, 2, 0));
}

TEST_F(ReplicaChoiceTest, PrefersReplicaWithFewestCalls) {
  ReplicaChoice choice({false, false, false}, kRest, clock_);
  EXPECT_EQ(choice.Pick(), 0u);
  EXPECT_EQ(choice.Pick(), 1u);
  EXPECT_EQ(choice.Pick(), 2u);
  choice.RecordResponse(1);
  EXPECT_EQ(choice.Pick(), 1u);
  choice.RecordResponse(2);
  choice.RecordResponse(0);
  EXPECT_EQ(choice.Pick(), 2u);  // round robin, because 0 has as few calls
}

TEST_F(ReplicaChoiceTest, LocalReplicasComeFirst) {
  ReplicaChoice choice({false, true, false, true}, kRest, clock_);
  EXPECT_EQ(choice.Pick(), 1u);
  EXPECT_EQ(choice.Pick(), 3u);
  EXPECT_EQ(choice.Pick(), 1u);
  EXPECT_EQ(choice.Pick(), 3u);
}

TEST_F(ReplicaChoiceTest, UsesRemoteReplicasWhileLocalOnesRest) {
  ReplicaChoice choice({true, false}, kRest, clock_);
  EXPECT_EQ(CallUnreachable(choice), 0u);
  EXPECT_TRUE(choice.HasAvailableServer());
  EXPECT_THAT(Picks(choice, 3), ElementsAre(1, 1, 1));
  clock_.Advance(kRest.first);
  EXPECT_THAT(Picks(choice, 3), ElementsAre(0, 0, 0));
}

TEST_F(ReplicaChoiceTest, OneCallProbesRestingReplica) {
  ReplicaChoice choice({true, false}, kRest, clock_);
  CallUnreachable(choice);
  clock_.Advance(kRest.first);
  EXPECT_EQ(choice.Pick(), 0u);
  EXPECT_EQ(choice.Pick(), 1u);  // while the probe is in flight
  clock_.Advance(10 * kRest.longest);
  EXPECT_EQ(choice.Pick(), 1u);  // for any duration of the probe
  choice.RecordResponse(0);
  EXPECT_EQ(choice.Pick(), 0u);
}

TEST_F(ReplicaChoiceTest, CancelledCallChangesNothing) {
  ReplicaChoice choice({true, false}, kRest, clock_);
  const size_t picked = choice.Pick();
  choice.RecordCancelled(picked);
  EXPECT_THAT(Picks(choice, 2), ElementsAre(0, 0));
  EXPECT_EQ(CallUnreachable(choice), 0u);
  clock_.Advance(kRest.first);
  choice.RecordCancelled(choice.Pick());  // the canceled call was the probe
  EXPECT_THAT(Picks(choice, 1), ElementsAre(1));
}

TEST_F(ReplicaChoiceTest, RestsLongerEachTimeUpToALimit) {
  ReplicaChoice choice({true, false}, kRest, clock_);
  for (const milliseconds rest : {milliseconds(500), milliseconds(1000), milliseconds(2000), milliseconds(2000)}) {
    EXPECT_EQ(CallUnreachable(choice), 0u);
    clock_.Advance(rest - milliseconds(1));
    EXPECT_THAT(Picks(choice, 2), ElementsAre(1, 1));
    clock_.Advance(milliseconds(1));
  }
  EXPECT_THAT(Picks(choice, 1), ElementsAre(0));
  EXPECT_EQ(CallUnreachable(choice), 0u);  // its failures are reset
  clock_.Advance(kRest.first);
  EXPECT_THAT(Picks(choice, 1), ElementsAre(0));
}

TEST_F(ReplicaChoiceTest, CallsThatFailTogetherCountOnce) {
  ReplicaChoice choice({true, false}, kRest, clock_);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(choice.Pick(), 0u);
  for (int i = 0; i < 8; ++i) choice.RecordUnreachable(0);
  clock_.Advance(kRest.first);
  EXPECT_THAT(Picks(choice, 1), ElementsAre(0));
}

TEST_F(ReplicaChoiceTest, UsesRestingReplicasInTurnIfAllRest) {
  ReplicaChoice choice({false, true}, kRest, clock_);
  EXPECT_EQ(CallUnreachable(choice), 1u);
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(CallUnreachable(choice), 0u);
  EXPECT_FALSE(choice.HasAvailableServer());
  EXPECT_EQ(CallUnreachable(choice), 1u);
  EXPECT_EQ(CallUnreachable(choice), 0u);
  EXPECT_FALSE(choice.HasAvailableServer());
  EXPECT_THAT(Picks(choice, 1), ElementsAre(1));
  EXPECT_TRUE(choice.HasAvailableServer());
}

// A recovered server is used again soon, regardless of the number of calls.
TEST_F(ReplicaChoiceTest, CallsWhileAllRestExtendNoRest) {
  ReplicaChoice choice({true, false}, kRest, clock_);
  for (int i = 0; i < 21; ++i) CallUnreachable(choice);
  EXPECT_THAT(Picks(choice, 1), ElementsAre(1));
  EXPECT_TRUE(choice.HasAvailableServer());
  clock_.Advance(kRest.first - milliseconds(1));
  EXPECT_THAT(Picks(choice, 2), ElementsAre(1, 1));
  clock_.Advance(milliseconds(1));
  EXPECT_THAT(Picks(choice, 2), ElementsAre(0, 0));
}

// One failure per rest counts: a server that stays unreachable is probed at increasing intervals.
TEST_F(ReplicaChoiceTest, RestGrowsUnderLoad) {
  ReplicaChoice choice({true}, kRest, clock_);
  for (int rest = 0; rest < 2; ++rest) {
    for (int i = 0; i < 8; ++i) EXPECT_EQ(CallUnreachable(choice), 0u);
    clock_.Advance(kRest.first);
  }
  EXPECT_EQ(CallUnreachable(choice), 0u);
  clock_.Advance(kRest.first);
  EXPECT_FALSE(choice.HasAvailableServer());
  clock_.Advance(kRest.first);
  EXPECT_TRUE(choice.HasAvailableServer());
}

TEST_F(ReplicaChoiceTest, OnlyReplicaIsAlwaysUsed) {
  ReplicaChoice choice({false}, kRest, clock_);
  EXPECT_EQ(CallUnreachable(choice), 0u);
  EXPECT_FALSE(choice.HasAvailableServer());
  EXPECT_EQ(CallUnreachable(choice), 0u);
  EXPECT_THAT(Picks(choice, 2), ElementsAre(0, 0));
}

}  // namespace
}  // namespace espalier::rpc
