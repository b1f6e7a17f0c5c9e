#include "operator/kube/testing/workload_controllers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace espalier::ctl::kube::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallTime kNow = WallTime(std::chrono::seconds(1000));

// The pods of a workload; their names are their indexes.
class WorkloadPods {
 public:
  Pod& Add(int64_t index, PodPhase phase, bool is_counted = false) {
    Pod& pod = pods_.emplace_back();
    pod.meta.key.name = std::to_string(index);
    pod.phase = phase;
    pod.ready = phase == PodPhase::kRunning;
    views_.push_back({&pod, index, is_counted});
    return pod;
  }
  Pod& AddGoing(int64_t index, bool is_counted = false) {
    Pod& pod = Add(index, PodPhase::kRunning, is_counted);
    pod.meta.deletion_requested_at = kNow;
    return pod;
  }
  std::span<const WorkloadPod> views() const { return views_; }

 private:
  std::deque<Pod> pods_;  // does not move its items
  std::vector<WorkloadPod> views_;
};

std::vector<std::string> ListNames(const std::vector<const Pod*>& pods) {
  std::vector<std::string> names;
  for (const Pod* pod : pods) names.push_back(pod->meta.key.name);
  return names;
}

Job JobWith(int64_t completions) {
  Job job;
  job.completions = completions;
  return job;
}

TEST(DecideJobTest, MakesThePodsThatAreMissing) {
  WorkloadPods pods;
  pods.Add(1, PodPhase::kPending);

  const JobDecision decision = DecideJob(JobWith(3), pods.views(), kNow);

  EXPECT_THAT(decision.missing, ElementsAre(0, 2));
  EXPECT_EQ(decision.job.active, 1);
  EXPECT_EQ(decision.job.ready, 0);
}

TEST(DecideJobTest, IsCompleteWhenEveryIndexHasSucceeded) {
  WorkloadPods pods;
  pods.Add(0, PodPhase::kSucceeded, /*is_counted=*/true);
  pods.Add(1, PodPhase::kSucceeded);
  Job job = JobWith(2);
  job.succeeded = 1;

  const JobDecision decision = DecideJob(job, pods.views(), kNow);

  EXPECT_EQ(decision.job.succeeded, 2);
  EXPECT_THAT(ListNames(decision.counted), ElementsAre("1"));
  EXPECT_TRUE(decision.job.complete);
  EXPECT_EQ(decision.job.completed_at, kNow);
}

TEST(DecideJobTest, DeletesTheOtherPodsOfAFailedOneBeforeItReportsTheFailure) {
  WorkloadPods pods;
  pods.Add(0, PodPhase::kFailed);
  Pod& other = pods.Add(1, PodPhase::kRunning);

  const JobDecision first = DecideJob(JobWith(2), pods.views(), kNow);
  EXPECT_EQ(first.job.failed, 1);
  EXPECT_THAT(ListNames(first.deletions), ElementsAre("1"));
  EXPECT_FALSE(first.job.failure_target);

  WorkloadPods later;
  later.Add(0, PodPhase::kFailed, /*is_counted=*/true);
  later.AddGoing(1);
  const JobDecision second = DecideJob(first.job, later.views(), kNow);
  EXPECT_EQ(second.job.failed, 2);  // a pod that is being deleted counts
  EXPECT_TRUE(second.job.failure_target);
  EXPECT_EQ(second.job.failure_reason, "BackoffLimitExceeded");
  EXPECT_FALSE(second.job.has_failed);
  EXPECT_THAT(second.missing, IsEmpty());

  other.phase = PodPhase::kFailed;
  EXPECT_TRUE(DecideJob(second.job, pods.views(), kNow).job.has_failed);
}

TEST(DecideJobTest, DeletesThePodsOfASuspendedJobWithoutAFailure) {
  WorkloadPods pods;
  pods.Add(0, PodPhase::kRunning);
  pods.AddGoing(1);
  Job job = JobWith(3);
  job.suspended = true;

  const JobDecision decision = DecideJob(job, pods.views(), kNow);

  EXPECT_EQ(decision.job.failed, 0);
  EXPECT_THAT(ListNames(decision.counted), ElementsAre("0", "1"));
  EXPECT_THAT(ListNames(decision.deletions), ElementsAre("0"));
  EXPECT_THAT(decision.missing, IsEmpty());
}

TEST(DecideJobTest, KeepsPodsOfFailedJob) {
  WorkloadPods pods;
  pods.Add(0, PodPhase::kRunning);
  Job job = JobWith(2);
  job.has_failed = job.failure_target = true;
  job.failed = 1;

  const JobDecision decision = DecideJob(job, pods.views(), kNow);

  EXPECT_EQ(decision.job.active, 1);
  EXPECT_THAT(decision.deletions, IsEmpty());
  EXPECT_THAT(decision.missing, IsEmpty());
}

TEST(DecideStatefulSetTest, ReplacesPodsAndDeletesThoseBeyondItsSize) {
  StatefulSet set;
  set.wanted = 4;
  set.meta.generation = 7;
  WorkloadPods pods;
  pods.Add(0, PodPhase::kRunning);
  pods.Add(1, PodPhase::kFailed);
  pods.AddGoing(2);  // its name is taken
  pods.Add(4, PodPhase::kRunning);

  const StatefulSetDecision decision = DecideStatefulSet(set, pods.views());

  EXPECT_THAT(ListNames(decision.deletions), ElementsAre("1", "4"));
  EXPECT_THAT(decision.missing, ElementsAre(3));
  EXPECT_EQ(decision.set.current, 4);
  EXPECT_EQ(decision.set.ready, 3);
  EXPECT_EQ(decision.set.observed_generation, 7);
}

TEST(DecideStatefulSetTest, MakesNoPodsWhileItIsBeingDeleted) {
  StatefulSet set;
  set.wanted = 2;
  set.meta.deletion_requested_at = kNow;
  WorkloadPods pods;
  pods.Add(2, PodPhase::kRunning);

  const StatefulSetDecision decision = DecideStatefulSet(set, pods.views());

  EXPECT_THAT(decision.missing, IsEmpty());
  EXPECT_THAT(decision.deletions, IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::kube::testing
