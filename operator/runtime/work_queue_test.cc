// Tests the order and the delays of keys, that two workers never have the same key, shutdown, and metrics.
#include "operator/runtime/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Optional;

const kube::ObjectKey kA{"default", "a"};
const kube::ObjectKey kB{"default", "b"};
const kube::ObjectKey kC{"default", "c"};

class WorkQueueTest : public testing::Test {
 protected:
  // Takes a key that is ready now.
  std::optional<kube::ObjectKey> Take(WorkQueue& from) { return from.Get(Deadline::At(clock.Now())); }
  std::optional<kube::ObjectKey> Take() { return Take(queue); }

  // Adds `key` after a failure and returns how long it is delayed.
  milliseconds DelayOfFailure(WorkQueue& from, const kube::ObjectKey& key) {
    from.AddRateLimited(key);
    milliseconds waited{0};
    for (milliseconds step{1}; !Take(from).has_value(); waited += step) {
      if (waited > hours(1)) return milliseconds(-1);
      step = std::max(milliseconds(1), waited / 64);  // fewer steps for long delays, with an error of about 2 %
      clock.Advance(step);
    }
    from.Done(key);
    return waited;
  }

  FakeClock clock;
  telemetry::MetricRegistry registry;
  WorkQueue queue{{}, registry, clock};
};

TEST_F(WorkQueueTest, ReturnsKeysInTheOrderTheyWereAddedEachOnce) {
  queue.Add(kA);
  queue.Add(kB);
  queue.Add(kA);

  EXPECT_EQ(queue.depth(), 2u);
  EXPECT_THAT(Take(), Optional(kA));
  EXPECT_THAT(Take(), Optional(kB));
  EXPECT_EQ(Take(), std::nullopt);
}

TEST_F(WorkQueueTest, KeyAddedWhileProcessingRunsAgain) {
  queue.Add(kA);
  ASSERT_THAT(Take(), Optional(kA));

  queue.Add(kA);
  queue.Add(kA);
  EXPECT_EQ(Take(), std::nullopt) << "never two workers on a key";
  queue.Done(kA);

  EXPECT_THAT(Take(), Optional(kA));
  queue.Done(kA);
  EXPECT_EQ(Take(), std::nullopt) << "once is enough";
}

TEST_F(WorkQueueTest, AddAfterWaits) {
  queue.AddAfter(kA, seconds(10));
  queue.AddAfter(kB, seconds(5));
  clock.Advance(seconds(5) - nanoseconds(1));
  EXPECT_EQ(Take(), std::nullopt);

  clock.Advance(nanoseconds(1));
  EXPECT_THAT(Take(), Optional(kB));
  EXPECT_EQ(Take(), std::nullopt);
  clock.Advance(seconds(5));
  EXPECT_THAT(Take(), Optional(kA));
}

TEST_F(WorkQueueTest, EarliestOfSeveralDelaysWins) {
  queue.AddAfter(kA, seconds(10));
  queue.AddAfter(kA, seconds(20));
  queue.AddAfter(kB, seconds(20));
  queue.AddAfter(kB, seconds(10));
  clock.Advance(seconds(10));

  EXPECT_THAT(Take(), Optional(kA));
  EXPECT_THAT(Take(), Optional(kB));
  queue.Done(kA);
  queue.Done(kB);
  clock.Advance(seconds(20));
  EXPECT_EQ(Take(), std::nullopt);
}

TEST_F(WorkQueueTest, ZeroDelayIsImmediate) {
  queue.AddAfter(kA, seconds(0));
  queue.AddAfter(kB, seconds(-1));

  EXPECT_THAT(Take(), Optional(kA));
  EXPECT_THAT(Take(), Optional(kB));
}

TEST_F(WorkQueueTest, AddIgnoresPendingDelay) {
  queue.AddAfter(kA, seconds(10));
  queue.Add(kA);

  EXPECT_THAT(Take(), Optional(kA));
}

TEST_F(WorkQueueTest, DelaysOfFailuresDoubleUpToTheirMaximum) {
  WorkQueue unlimited({.name = "unlimited", .qps = 0}, registry, clock);

  double step_ms = 5;
  for (int i = 0; i < 25; ++i, step_ms = std::min(1e6, step_ms * 2)) {
    const double delay_ms = static_cast<double>(DelayOfFailure(unlimited, kA).count());
    EXPECT_THAT(delay_ms, AllOf(Ge(step_ms / 2 - 1), Le(step_ms * 1.02 + 1))) << "failure " << i;
  }
}

TEST_F(WorkQueueTest, ForgetResetsDelay) {
  WorkQueue unlimited({.name = "unlimited", .qps = 0}, registry, clock);
  for (int i = 0; i < 15; ++i) DelayOfFailure(unlimited, kA);
  ASSERT_GE(DelayOfFailure(unlimited, kA), seconds(80));

  unlimited.Forget(kA);

  EXPECT_LE(DelayOfFailure(unlimited, kA), milliseconds(5));
}

TEST_F(WorkQueueTest, FailuresOfAllKeysTogetherAreBounded) {
  WorkQueue bounded({.name = "bounded", .first_delay = milliseconds(2), .qps = 10, .burst = 5}, registry, clock);
  for (int i = 0; i < 25; ++i) bounded.AddRateLimited({"default", std::to_string(i)});

  int at_once = 0;
  clock.Advance(milliseconds(2));
  while (Take(bounded)) ++at_once;
  EXPECT_EQ(at_once, 5);
  int after_a_second = 0;
  clock.Advance(seconds(1));
  while (Take(bounded)) ++after_a_second;
  EXPECT_EQ(after_a_second, 10);
}

TEST_F(WorkQueueTest, ShutdownWakesWaitersAndDropsQueue) {
  std::latch waiting(3);
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      waiting.count_down();
      EXPECT_EQ(queue.Get(Deadline::At(clock.Now() + hours(1))), std::nullopt);
    });
  }
  waiting.wait();

  queue.Shutdown();
  workers.clear();
  queue.Add(kA);
  queue.AddAfter(kB, seconds(0));

  EXPECT_TRUE(queue.is_shut_down());
  EXPECT_EQ(queue.depth(), 0u);
  EXPECT_EQ(Take(), std::nullopt);
}

TEST_F(WorkQueueTest, RunningKeyMayFinishAfterShutdown) {
  queue.Add(kA);
  ASSERT_THAT(Take(), Optional(kA));
  queue.Add(kA);
  queue.Shutdown();

  queue.Done(kA);

  EXPECT_EQ(Take(), std::nullopt);
}

TEST_F(WorkQueueTest, NoTwoThreadsHaveTheSameKey) {
  constexpr int kRounds = 2000;
  std::atomic<int> holders[3] = {};
  std::atomic<int> taken{0};
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (const auto key = queue.Get(Deadline::At(clock.Now() + hours(1)))) {
        std::atomic<int>& held = holders[key->name[0] - 'a'];
        EXPECT_EQ(held.fetch_add(1), 0);
        taken.fetch_add(1);
        held.fetch_sub(1);
        queue.Done(*key);
      }
    });
  }
  for (int i = 0; i < kRounds; ++i) {
    queue.Add(kA);
    queue.Add(kB);
    queue.Add(kC);
  }
  while (queue.depth() > 0) std::this_thread::yield();
  queue.Shutdown();
  workers.clear();

  EXPECT_GE(taken.load(), 3);
  EXPECT_LE(taken.load(), 3 * kRounds);
}

TEST_F(WorkQueueTest, CountsAndMeasures) {
  queue.Add(kA);
  queue.Add(kA);
  queue.Add(kB);
  queue.AddAfter(kC, seconds(100));
  ASSERT_THAT(Take(), Optional(kA));
  clock.Advance(seconds(2));
  ASSERT_THAT(Take(), Optional(kB));
  clock.Advance(seconds(3));

  const std::string text = registry.Serialize();

  EXPECT_THAT(text, HasSubstr("workqueue_adds_total{name=\"disttraining\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_retries_total{name=\"disttraining\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_depth{name=\"disttraining\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_queue_duration_seconds_sum{name=\"disttraining\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_unfinished_work_seconds{name=\"disttraining\"} 8\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_longest_running_processor_seconds{name=\"disttraining\"} 5\n"));
  queue.Done(kA);
  EXPECT_THAT(registry.Serialize(), HasSubstr("workqueue_work_duration_seconds_sum{name=\"disttraining\"} 5\n"));
}

}  // namespace
}  // namespace espalier::ctl::runtime
