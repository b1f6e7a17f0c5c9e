// Tests when the stop watcher cancels calls to servers after a stop request, and when it does not.
#include "services/trainer/main/stop_watcher.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "services/base/clock.h"
#include "services/collective/self_collective.h"
#include "services/telemetry/process.h"
#include "services/trainer/main/watched_collective.h"

namespace espalier::trainer {
namespace {

// Returns whether the condition becomes true within a minute.
bool BecomesTrue(const std::function<bool()>& condition) {
  for (const Deadline deadline = Deadline::After(std::chrono::minutes(1)); !deadline.HasPassed();) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return false;
}

class StopWatcherTest : public testing::Test {
 protected:
  void SetUp() override { telemetry::StopSignal::Install().ResetForTesting(); }
  void TearDown() override { telemetry::StopSignal::Install().ResetForTesting(); }
};

TEST_F(StopWatcherTest, ForwardsRequestAndWaitsForCurrentStep) {
  StopWatcher watcher(std::chrono::hours(1));
  watcher.OnTrainingBegin();
  watcher.OnStep();
  EXPECT_FALSE(watcher.requested());
  telemetry::StopSignal::Install().Request(SIGTERM);
  EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
  watcher.OnStep();
  EXPECT_FALSE(watcher.server_call_token().stop_requested());
}

// As in a trainer, whose training thread blocks the signal.
TEST_F(StopWatcherTest, HandlesSignalThatThreadsBeforeItBlock) {
  const telemetry::StopSignal& signal = telemetry::StopSignal::Install();
  signal.BlockInThread();
  {
    StopWatcher watcher(std::chrono::hours(1));
    watcher.OnTrainingBegin();
    ASSERT_EQ(kill(getpid(), SIGTERM), 0);
    EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGTERM), 0);
  }
  signal.UnblockInThread();
}

TEST_F(StopWatcherTest, CancelsStalledStep) {
  StopWatcher watcher(std::chrono::milliseconds(1));
  watcher.OnTrainingBegin();
  EXPECT_FALSE(watcher.server_call_token().stop_requested());
  telemetry::StopSignal::Install().Request(SIGTERM);
  EXPECT_TRUE(BecomesTrue([&] { return watcher.server_call_token().stop_requested(); }));
}

// A chunk of an evaluation may take longer than the limit of a step; the next step has the limit of a step again.
TEST_F(StopWatcherTest, ChunkMayTakeLongerThanStep) {
  StopWatcher watcher(std::chrono::milliseconds(0), std::chrono::hours(1));
  watcher.OnTrainingBegin();
  watcher.OnStep();
  watcher.OnProgress();
  telemetry::StopSignal::Install().Request(SIGTERM);
  EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
  // The watcher checks about three times; each check would have canceled a step.
  Clock::Real().SleepFor(std::chrono::milliseconds(300));
  EXPECT_FALSE(watcher.server_call_token().stop_requested());
  watcher.OnStep();
  EXPECT_TRUE(BecomesTrue([&] { return watcher.server_call_token().stop_requested(); }));
}

TEST_F(StopWatcherTest, SaveAfterLastStepHasItsTime) {
  std::stop_token token;
  {
    StopWatcher watcher(std::chrono::milliseconds(0));
    token = watcher.server_call_token();
    watcher.OnTrainingBegin();
    watcher.OnLastStep();
    telemetry::StopSignal::Install().Request(SIGTERM);
    EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
  }
  EXPECT_FALSE(token.stop_requested());
}

TEST_F(StopWatcherTest, CancelsPrefetchedBatchAfterSave) {
  StopWatcher watcher(std::chrono::milliseconds(0));
  watcher.OnTrainingBegin();
  watcher.OnLastStep();
  telemetry::StopSignal::Install().Request(SIGTERM);
  EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
  EXPECT_FALSE(watcher.server_call_token().stop_requested());
  watcher.OnSaved();
  EXPECT_TRUE(BecomesTrue([&] { return watcher.server_call_token().stop_requested(); }));
}

TEST_F(StopWatcherTest, CancelsNothingElseUntilRequested) {
  StopWatcher watcher(std::chrono::hours(1));
  watcher.OnTrainingBegin();
  watcher.OnLastStep();
  telemetry::StopSignal::Install().Request(SIGTERM);
  EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
  watcher.OnSaved();
  watcher.OnProgress();
  EXPECT_FALSE(watcher.server_call_token().stop_requested());
  watcher.CancelServerCalls();
  EXPECT_TRUE(watcher.server_call_token().stop_requested());
}

// A rank that waits for the other trainers has not stalled; a rank that waits for a server afterwards has.
TEST_F(StopWatcherTest, WaitingForTheOthersIsNoStall) {
  StopWatcher watcher(std::chrono::milliseconds(0));
  WatchedCollective group(std::make_unique<collective::SelfCollective>(), watcher);
  watcher.OnTrainingBegin();
  {
    const StopWatcher::CommunicationScope scope(watcher);
    telemetry::StopSignal::Install().Request(SIGTERM);
    EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
    EXPECT_FALSE(watcher.server_call_token().stop_requested());
  }
  EXPECT_TRUE(BecomesTrue([&] { return watcher.server_call_token().stop_requested(); }));
  EXPECT_TRUE(group.Barrier(Deadline::After(std::chrono::minutes(1))).ok());
}

// The computation of a step is not a stall, however long it takes; a wait for a server afterwards is.
TEST_F(StopWatcherTest, ComputingIsNoStall) {
  StopWatcher watcher(std::chrono::milliseconds(0));
  watcher.OnTrainingBegin();
  watcher.OnStep();
  watcher.OnComputeBegin();
  telemetry::StopSignal::Install().Request(SIGTERM);
  EXPECT_TRUE(BecomesTrue([&] { return watcher.requested().load(); }));
  // The watcher checks about three times; each check would have canceled a step.
  Clock::Real().SleepFor(std::chrono::milliseconds(300));
  EXPECT_FALSE(watcher.server_call_token().stop_requested());
  watcher.OnComputeEnd();
  EXPECT_TRUE(BecomesTrue([&] { return watcher.server_call_token().stop_requested(); }));
}

TEST_F(StopWatcherTest, BeforeTrainingThereIsNothingToSave) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        StopWatcher watcher;
        telemetry::StopSignal::Install().Request(SIGTERM);
        while (true) pause();
      },
      testing::ExitedWithCode(75), "asked to stop");
}

}  // namespace
}  // namespace espalier::trainer
