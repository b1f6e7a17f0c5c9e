// Tests when a key is reconciled again after each outcome, concurrent workers, and Stop.
#include "operator/runtime/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <vector>

#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const kube::ObjectKey kWorkedOn{"default", "cora"};

class WorkersTest : public testing::Test {
 protected:
  // Reconciles a key that is ready now. Returns false if there is none.
  bool RunOnce(Workers& workers) { return workers.RunOnce(Deadline::At(clock.Now())); }
  Reconcile Always(ReconcileOutcome outcome) {
    return [this, outcome](const kube::ObjectKey& key) {
      EXPECT_EQ(key, kWorkedOn);
      ++num_runs;
      return outcome;
    };
  }

  FakeClock clock;
  telemetry::MetricRegistry registry;
  WorkQueue queue{{.name = "disttraining", .first_delay = milliseconds(100), .qps = 0}, registry, clock};
  int num_runs = 0;
};

TEST_F(WorkersTest, SuccessForgetsKey) {
  Workers workers(queue, Always({}), 1, registry);
  queue.Add(kWorkedOn);

  EXPECT_TRUE(RunOnce(workers));
  clock.Advance(hours(24));
  EXPECT_FALSE(RunOnce(workers));

  EXPECT_EQ(num_runs, 1);
  EXPECT_THAT(registry.Serialize(),
              HasSubstr("controller_runtime_reconcile_total{controller=\"disttraining\",result=\"success\"} 1\n"));
}

TEST_F(WorkersTest, FailureBacksOff) {
  Workers workers(queue, Always({.status = Unavailable("no route"), .requeue_after = hours(1)}), 1, registry);
  queue.Add(kWorkedOn);
  ASSERT_TRUE(RunOnce(workers));
  EXPECT_FALSE(RunOnce(workers));

  clock.Advance(milliseconds(100));
  EXPECT_TRUE(RunOnce(workers));
  clock.Advance(milliseconds(99));
  EXPECT_FALSE(RunOnce(workers)) << "between 100 and 200 ms now";
  clock.Advance(milliseconds(101));
  EXPECT_TRUE(RunOnce(workers));

  const std::string text = registry.Serialize();
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_errors_total{controller=\"disttraining\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("result=\"error\"} 3\n"));
}

TEST_F(WorkersTest, SuccessResetsDelay) {
  ReconcileOutcome outcome{.status = Unavailable("no route")};
  Workers workers(
      queue, [&](const kube::ObjectKey&) { return outcome; }, 1, registry);
  queue.Add(kWorkedOn);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(RunOnce(workers));
    clock.Advance(hours(1));
  }
  outcome.status = Status();
  ASSERT_TRUE(RunOnce(workers));
  outcome.status = Unavailable("again");
  queue.Add(kWorkedOn);
  ASSERT_TRUE(RunOnce(workers));

  clock.Advance(milliseconds(100));

  EXPECT_TRUE(RunOnce(workers));
}

TEST_F(WorkersTest, RequeuesAfterRequestedTime) {
  Workers workers(queue, Always({.requeue_after = seconds(30)}), 1, registry);
  queue.Add(kWorkedOn);
  ASSERT_TRUE(RunOnce(workers));
  clock.Advance(seconds(29));
  EXPECT_FALSE(RunOnce(workers));

  clock.Advance(seconds(1));

  EXPECT_TRUE(RunOnce(workers));
  EXPECT_THAT(registry.Serialize(), HasSubstr("result=\"requeue_after\"} 2\n"));
}

TEST_F(WorkersTest, StaleCacheIsNeitherErrorNorSuccess) {
  ReconcileOutcome outcome{.status = Unavailable("no route")};
  Workers workers(
      queue, [&](const kube::ObjectKey&) { return outcome; }, 1, registry);
  queue.Add(kWorkedOn);
  ASSERT_TRUE(RunOnce(workers));
  outcome = {.stale = true};
  clock.Advance(milliseconds(100));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(RunOnce(workers));
    clock.Advance(kMaxStaleDelay);
  }
  outcome = {.status = Unavailable("no route")};
  ASSERT_TRUE(RunOnce(workers));

  clock.Advance(milliseconds(99));
  EXPECT_FALSE(RunOnce(workers)) << "it was the second failure in a row";
  EXPECT_THAT(registry.Serialize(), HasSubstr("result=\"requeue\"} 100\n"));
}

TEST_F(WorkersTest, StaleCacheBacksOff) {
  Workers workers(queue, Always({.stale = true}), 1, registry);
  queue.Add(kWorkedOn);
  ASSERT_TRUE(RunOnce(workers));
  for (milliseconds longest = kFirstStaleDelay; longest < kMaxStaleDelay; longest *= 2) {
    clock.Advance(longest / 2 - milliseconds(1));
    EXPECT_FALSE(RunOnce(workers)) << longest.count();
    clock.Advance(longest / 2 + milliseconds(1));
    EXPECT_TRUE(RunOnce(workers)) << longest.count();
  }
  clock.Advance(kMaxStaleDelay);
  EXPECT_TRUE(RunOnce(workers)) << "and no later than that";
}

TEST_F(WorkersTest, ConflictIsNoErrorAndBacksOff) {
  Workers workers(queue, Always({.status = Aborted("another holds the name")}), 1, registry);
  queue.Add(kWorkedOn);
  ASSERT_TRUE(RunOnce(workers));
  for (const int longest : {100, 200, 400, 800}) {
    clock.Advance(milliseconds(longest / 2 - 1));
    EXPECT_FALSE(RunOnce(workers)) << longest;
    clock.Advance(milliseconds(longest / 2 + 1));
    EXPECT_TRUE(RunOnce(workers)) << longest;
  }

  const std::string text = registry.Serialize();
  EXPECT_THAT(text, HasSubstr("result=\"requeue\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_errors_total{controller=\"disttraining\"} 0\n"));
}

TEST_F(WorkersTest, AKeyThatChangedMeanwhileRunsAgain) {
  Workers workers(
      queue,
      [&](const kube::ObjectKey& key) {
        if (++num_runs == 1) queue.Add(key);
        return ReconcileOutcome{};
      },
      1, registry);
  queue.Add(kWorkedOn);

  EXPECT_TRUE(RunOnce(workers));
  EXPECT_TRUE(RunOnce(workers));
  EXPECT_FALSE(RunOnce(workers));
}

TEST_F(WorkersTest, ThreadsWorkSideBySide) {
  std::latch together(4);
  std::latch done(4);
  Workers workers(
      queue,
      [&](const kube::ObjectKey&) {
        together.arrive_and_wait();
        done.count_down();
        return ReconcileOutcome{};
      },
      4, registry);
  workers.Start();
  for (int i = 0; i < 4; ++i) queue.Add({"default", std::to_string(i)});

  done.wait();

  EXPECT_TRUE(workers.Stop(Deadline::After(seconds(30))));
  EXPECT_THAT(registry.Serialize(),
              HasSubstr("controller_runtime_max_concurrent_reconciles{controller=\"disttraining\"} 4\n"));
}

TEST_F(WorkersTest, StopWaitsForRunningKeysUntilDeadline) {
  std::latch begun(1);
  std::latch may_end(1);
  Workers workers(
      queue,
      [&](const kube::ObjectKey&) {
        begun.count_down();
        may_end.wait();
        return ReconcileOutcome{};
      },
      2, registry);
  workers.Start();
  queue.Add(kWorkedOn);
  begun.wait();
  EXPECT_THAT(registry.Serialize(), HasSubstr("controller_runtime_active_workers{controller=\"disttraining\"} 1\n"));

  EXPECT_FALSE(workers.Stop(Deadline::After(seconds(0))));
  may_end.count_down();
  EXPECT_TRUE(workers.Stop(Deadline::After(seconds(30))));
  EXPECT_TRUE(queue.is_shut_down());
}

TEST_F(WorkersTest, MayBeStoppedWithoutHavingStarted) {
  Workers workers(queue, Always({}), 2, registry);

  EXPECT_TRUE(workers.Stop(Deadline::After(seconds(0))));
}

}  // namespace
}  // namespace espalier::ctl::runtime
