#include "services/runner/run/recovery_plan.h"

#include <signal.h>

#include "services/runner/run/testing/planned_run.h"

namespace espalier::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST_F(RecoveryPlanTest, StartsRolesInOrder) {
  EXPECT_THAT(Next(), ElementsAre("start partitioner"));
  EXPECT_THAT(Next(), IsEmpty());
  End(kPartitioner, kDone);
  EXPECT_THAT(Next(), ElementsAre("start server-0", "start server-1"));
  EXPECT_THAT(plan_->Awaited(), ElementsAre(kServer0, kServer1));
  Ready(kServer1);
  EXPECT_THAT(Next(), IsEmpty());
  Ready(kServer0);
  EXPECT_THAT(Next(), ElementsAre("start sampler-0"));
  Ready(kSampler0);
  EXPECT_THAT(Next(), ElementsAre("incarnation 7 (total 1, counted 0)", "start trainer-0"));
  Ready(kTrainer0);
  EXPECT_THAT(Next(), ElementsAre("start trainer-1"));
  Ready(kTrainer1);
  End(kTrainer1, kDone);
  EXPECT_THAT(Next(), IsEmpty());
  End(kTrainer0, kDone);
  EXPECT_THAT(Next(), ElementsAre("succeed"));
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(RecoveryPlanTest, NoActionsWhileAllRun) {
  StartAll();
  EXPECT_THAT(NextAfter(minutes(600)), IsEmpty());
  EXPECT_EQ(plan_->WakeAt(), std::nullopt);
  EXPECT_THAT(plan_->Awaited(), IsEmpty());
}

TEST_F(RecoveryPlanTest, FailedServerRestartsAndTrainersContinue) {
  StartAll();
  End(kServer1, kKilled);
  EXPECT_THAT(Next(), ElementsAre("recover server-1 1/3"));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("start server-1"));
  Ready(kServer1);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(plan_->attempts().total, 1);
}

TEST_F(RecoveryPlanTest, FailingServerBacksOffThenEndsRun) {
  StartAll();
  std::vector<milliseconds> delays;
  for (int death = 1; death <= 3; ++death) {
    End(kServer0, kCrashed);
    Next();
    const SteadyTime before = now_;
    EXPECT_THAT(NextWhenDue(), ElementsAre("start server-0"));
    delays.push_back(std::chrono::duration_cast<milliseconds>(now_ - before));
    Ready(kServer0);
  }
  EXPECT_THAT(delays, ElementsAre(milliseconds(200), milliseconds(400), milliseconds(800)));
  End(kServer0, kCrashed);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up server-0"));
}

TEST_F(RecoveryPlanTest, ReplicaRestartsForeverWhileAnotherServes) {
  PlanOptions options = Options();
  options.partitions = 1;  // server-1 is a replica of server-0
  plan_.emplace(options);
  StartAll();
  for (int death = 1; death <= 3; ++death) {
    End(kServer1, kCrashed);
    EXPECT_THAT(Next(), ElementsAre("recover server-1 " + std::to_string(death) + "/3"));
    EXPECT_THAT(NextWhenDue(), ElementsAre("start server-1"));
    Ready(kServer1);
  }
  for (int death = 0; death < 5; ++death) {
    End(kServer1, kCrashed);
    EXPECT_THAT(Next(), ElementsAre("recover server-1 3/3"));
    EXPECT_THAT(NextAfter(options.longest_delay - milliseconds(1)), IsEmpty());
    EXPECT_THAT(NextWhenDue(), ElementsAre("start server-1"));
    Ready(kServer1);
  }
  // No other server of the partition is ready now, so the backoff limit applies.
  End(kServer0, Code(70));
  EXPECT_THAT(Next(), ElementsAre("recover server-0 1/3"));
  End(kServer1, kCrashed);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextAfter(options.settle_time), ElementsAre("give up server-1"));
}

TEST_F(RecoveryPlanTest, FirstServerOfPartitionIsRequired) {
  PlanOptions options = Options();
  options.partitions = 1;
  options.backoff_limit = 0;
  plan_.emplace(options);
  StartAll();
  End(kServer0, kCrashed);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up server-0"));
}

// The run waits until every server has been ready once. Without a limit on restarts it would wait forever.
TEST_F(RecoveryPlanTest, EveryReplicaIsRequiredAtStart) {
  PlanOptions options = Options();
  options.partitions = 1;
  options.backoff_limit = 0;
  plan_.emplace(options);
  Next();
  End(kPartitioner, kDone);
  Next();
  Ready(kServer0);
  End(kServer1, kCrashed);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up server-1"));
}

TEST_F(RecoveryPlanTest, LongServiceResetsFailures) {
  StartAll();
  for (int death = 0; death < 20; ++death) {
    now_ += minutes(11);
    End(kServer0, kKilled);
    EXPECT_THAT(Next(), ElementsAre("recover server-0 1/3"));
    EXPECT_THAT(NextWhenDue(), ElementsAre("start server-0"));
    Ready(kServer0);
  }
}

TEST_F(RecoveryPlanTest, ServersAndSamplersHaveLimitsOfTheirOwn) {
  StartAll();
  for (const ChildId child : {kServer0, kServer1, kSampler0}) {
    for (int death = 0; death < 3; ++death) {
      End(child, kKilled);
      Next();
      NextWhenDue();
      Ready(child);
    }
  }
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(RecoveryPlanTest, FailedTrainerStartsNewIncarnation) {
  StartAll();
  End(kTrainer1, kKilled);
  EXPECT_THAT(Next(), IsEmpty());  // trainer-0 has time to notice and to end by itself
  now_ += milliseconds(70);
  End(kTrainer0, Code(74));
  EXPECT_THAT(Next(), ElementsAre("recover trainer-1 1/3"));
  EXPECT_THAT(NextWhenDue(), ElementsAre("incarnation 8 (total 2, counted 1)", "start trainer-0"));
  Ready(kTrainer0);
  EXPECT_THAT(Next(), ElementsAre("start trainer-1"));
  Ready(kTrainer1);
  End(kTrainer0, kDone);
  End(kTrainer1, kDone);
  EXPECT_THAT(Next(), ElementsAre("succeed"));
}

TEST_F(RecoveryPlanTest, RemainingTrainersAreStoppedThenKilled) {
  StartAll();
  End(kTrainer0, kKilled);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("signal 15 trainer-1"));
  EXPECT_THAT(NextWhenDue(), ElementsAre("signal 9 trainer-1"));
  End(kTrainer1, kKilled);
  EXPECT_THAT(Next(), ElementsAre("recover trainer-0 1/3"));
}

TEST_F(RecoveryPlanTest, EarlyFailureOfRankZeroFailsGroup) {
  StartServices();
  Next();
  End(kTrainer0, Code(70));
  EXPECT_THAT(Next(), ElementsAre("recover trainer-0 1/3"));
  EXPECT_THAT(NextWhenDue(), ElementsAre("incarnation 8 (total 2, counted 1)", "start trainer-0"));
}

TEST_F(RecoveryPlanTest, TrainersFailExactlyUpToLimit) {
  StartServices();
  for (int failure = 1; failure <= 4; ++failure) {
    StartGroup();
    End(kTrainer0, kKilled);
    End(kTrainer1, Code(74));
    const auto actions = Next();
    if (failure <= 3) {
      EXPECT_THAT(actions, ElementsAre("recover trainer-0 " + std::to_string(failure) + "/3"));
      now_ = *plan_->WakeAt();
    }
  }
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up trainer-0"));
}

TEST_F(RecoveryPlanTest, ExternalStopIsRetriedAndNotCounted) {
  StartServices();
  for (int stop = 0; stop < 10; ++stop) {
    StartGroup();
    End(kTrainer0, Code(75));
    End(kTrainer1, Code(75));
    EXPECT_THAT(Next(), ElementsAre("recover trainer-0 0/3"));
    now_ = *plan_->WakeAt();
  }
  EXPECT_EQ(plan_->attempts().counted, 0);
  EXPECT_EQ(plan_->attempts().total, 10);
}

TEST_F(RecoveryPlanTest, AnErrorBecauseAPeerWasStoppedIsNotCounted) {
  StartServices();
  StartGroup();
  End(kTrainer0, Code(74));
  End(kTrainer1, Code(75));
  EXPECT_THAT(Next(), ElementsAre("recover trainer-1 0/3"));
}

TEST_F(RecoveryPlanTest, BadInputEndsRun) {
  for (const int code : {64, 65}) {
    for (const ChildId child : {kServer1, kSampler0, kTrainer1}) {
      Limit(3);
      StartAll();
      End(child, Code(code));
      EXPECT_THAT(Next(), ElementsAre("give up " + ToString(child)));
      EXPECT_THAT(NextAfter(minutes(1)), IsEmpty());
    }
  }
  Limit(3);
  Next();
  End(kPartitioner, Code(65));
  EXPECT_THAT(Next(), ElementsAre("give up partitioner"));
}

TEST_F(RecoveryPlanTest, AKilledPartitionerIsStartedAgain) {
  Next();
  End(kPartitioner, kKilled);
  EXPECT_THAT(Next(), ElementsAre("recover partitioner 1/3"));
  EXPECT_THAT(NextWhenDue(), ElementsAre("start partitioner"));
  End(kPartitioner, kDone);
  EXPECT_THAT(Next(), ElementsAre("start server-0", "start server-1"));
}

TEST_F(RecoveryPlanTest, ServersStartAfterAllPartitionersComplete) {
  PlanOptions options = Options();
  options.partitioners = 3;
  plan_.emplace(options);
  EXPECT_THAT(Next(), ElementsAre("start partitioner", "start partitioner-1", "start partitioner-2"));
  End(kPartitioner, kDone);
  End({Role::kPartitioner, 2}, kKilled);
  EXPECT_THAT(Next(), ElementsAre("recover partitioner-2 1/3"));
  EXPECT_THAT(NextWhenDue(), ElementsAre("start partitioner-2"));
  End({Role::kPartitioner, 2}, kDone);
  EXPECT_THAT(Next(), IsEmpty());
  End({Role::kPartitioner, 1}, kDone);
  EXPECT_THAT(Next(), ElementsAre("start server-0", "start server-1"));
}

TEST_F(RecoveryPlanTest, WithoutRetriesReportsCause) {
  Limit(0);
  StartAll();
  End(kTrainer0, Code(74));
  End(kTrainer1, Code(74));
  EXPECT_THAT(Next(), IsEmpty());
  now_ += milliseconds(50);
  End(kSampler0, Code(3));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up sampler-0"));
}

TEST_F(RecoveryPlanTest, UnexpectedExitOfServerIsFailure) {
  Limit(0);
  StartAll();
  End(kServer0, kDone);
  Next();
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up server-0"));
}

TEST_F(RecoveryPlanTest, FailureAfterCommitRestartsNothing) {
  StartAll();
  End(kTrainer0, kDone);
  EXPECT_THAT(Next(), IsEmpty());
  End(kTrainer1, kKilled);
  EXPECT_THAT(Next(), ElementsAre("succeed"));
}

TEST_F(RecoveryPlanTest, StragglersAfterCommitAreStopped) {
  StartAll();
  End(kTrainer0, kDone);
  Next();
  EXPECT_THAT(NextWhenDue(), ElementsAre("signal 9 trainer-1"));
  EXPECT_THAT(NextAfter(minutes(1)), IsEmpty());
  End(kTrainer1, kKilled);
  EXPECT_THAT(Next(), ElementsAre("succeed"));
}

TEST_F(RecoveryPlanTest, BugOfOtherRankFailsAfterCommit) {
  StartAll();
  End(kTrainer0, kDone);
  End(kTrainer1, Code(70));
  EXPECT_THAT(Next(), ElementsAre("recover trainer-1 1/3"));
}

TEST_F(RecoveryPlanTest, ServersMayFailWhileTrainersRestart) {
  StartAll();
  End(kTrainer0, kKilled);
  End(kTrainer1, kKilled);
  End(kServer0, kKilled);
  EXPECT_THAT(Next(), ElementsAre("recover server-0 1/3", "recover trainer-0 1/3"));
  now_ = *plan_->WakeAt();
  // Trainers need only the server's address, which does not change.
  EXPECT_THAT(Next(), ElementsAre("start server-0", "incarnation 8 (total 2, counted 1)", "start trainer-0"));
  EXPECT_THAT(plan_->Awaited(), ElementsAre(kTrainer0, kServer0));
}

TEST_F(RecoveryPlanTest, UnavailableTrainersRestartWhenStoresAreReachable) {
  StartAll();
  FailOnTheStore();
  StoresAre(kReachable);
  EXPECT_EQ(plan_->WakeAt(), now_);
  EXPECT_THAT(Next(), ElementsAre("incarnation 8 (total 2, counted 1)", "start trainer-0"));
  Ready(kTrainer0);
  EXPECT_THAT(Next(), ElementsAre("start trainer-1")) << "without another look";
}

TEST_F(RecoveryPlanTest, RecoveredStoresCountOneFailure) {
  StartAll();
  FailOnTheStore();
  for (int look = 0; look < 3; ++look) {
    now_ += milliseconds(400);  // duration of a probe
    StoresAre(kUnreachable);
    EXPECT_THAT(Next(), IsEmpty());
    EXPECT_THAT(NextWhenDue(), ElementsAre("probe stores"));
  }
  StoresAre(kReachable);
  EXPECT_THAT(Next(), ElementsAre("incarnation 8 (total 2, counted 1)", "start trainer-0"));
  Ready(kTrainer0);
  Next();
  // A successful probe resets the time: the next outage has the full store_patience again.
  FailOnTheStore();
  StoresAre(kUnreachable);
  EXPECT_THAT(NextAfter(milliseconds(5000)), ElementsAre("probe stores"));
}

TEST_F(RecoveryPlanTest, UnreachableStoresEndRun) {
  StartAll();
  FailOnTheStore();
  const SteadyTime first_look = now_;
  StoresAre(kUnreachable);
  std::vector<std::string> actions = NextWhenDue();
  while (actions == std::vector<std::string>{"probe stores"}) {
    StoresAre(kUnreachable);
    actions = NextWhenDue();
  }
  EXPECT_THAT(actions, ElementsAre("give up on stores trainer-0"));
  EXPECT_EQ(now_ - first_look, std::chrono::seconds(6));
  EXPECT_THAT(NextAfter(minutes(1)), IsEmpty());
}

TEST_F(RecoveryPlanTest, ServicesShareStoreProbe) {
  StartAll();
  End(kServer0, Code(74));
  End(kServer1, Code(74));
  Next();
  EXPECT_THAT(NextWhenDue(), ElementsAre("probe stores"));
  StoresAre(kUnreachable);
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("probe stores"));
  StoresAre(kReachable);
  EXPECT_THAT(Next(), ElementsAre("start server-0", "start server-1"));
}

TEST_F(RecoveryPlanTest, WithoutRetriesStoresAreNotProbed) {
  Limit(0);
  StartAll();
  End(kTrainer0, Code(74));
  End(kTrainer1, Code(74));
  Next();
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up trainer-0"));
}

TEST_F(RecoveryPlanTest, BadInputRanksAboveUnreachableStore) {
  StartAll();
  FailOnTheStore();
  StoresAre(kUnreachable);
  End(kServer1, Code(65));
  EXPECT_THAT(Next(), ElementsAre("give up server-1"));
}

TEST_F(RecoveryPlanTest, NothingStartsAfterPermanentFailure) {
  Limit(0);
  StartAll();
  End(kServer0, kKilled);
  End(kTrainer0, Code(75));
  End(kTrainer1, Code(75));
  for (const auto& actions : {Next(), NextWhenDue(), NextAfter(minutes(1))}) {
    EXPECT_THAT(actions, Not(Contains(testing::StartsWith("start"))));
  }
}

}  // namespace
}  // namespace espalier::run
