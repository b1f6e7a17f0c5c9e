// Tests trainers that end, and what follows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "operator/plan/reasons.h"
#include "operator/plan/restart_policy.h"
#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Phase;
using std::chrono::seconds;
using ::testing::Contains;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kSoon;
using ::testing::Not;
using testing::Scene;

TEST(TrainerStageTest, IncarnationIsStoredBeforeOldJobChanges) {
  Scene scene;
  scene.Training();
  scene.TrainerPodEnded(0, 70);
  scene.TrainerPodEnded(1, 74);
  scene.cluster().RunAll();
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(plan.status.incarnation, 2);
  EXPECT_EQ(plan.status.attempts_total, 2);
  EXPECT_EQ(plan.status.attempts_counted, 1);
  EXPECT_EQ(plan.status.restart_reason, "Internal");
  EXPECT_EQ(plan.status.phase, Phase::kRestarting);
  EXPECT_EQ(plan.status.last_error->exit_code, 70);
  EXPECT_EQ(plan.status.last_error->role, "trainer");
  EXPECT_THAT(Described(plan.actions), ElementsAre("delete Job cora-trainer-1", "delete ConfigMap cora-config-1"));
  EXPECT_EQ(std::get<DeleteChild>(plan.actions[0]).propagation, kube::Propagation::kForeground);
  EXPECT_THAT(Described(plan.events), ElementsAre("Warning TrainersRestarted", "Warning Internal"));
}

TEST(TrainerStageTest, FailureIsCountedOnce) {
  Scene scene;
  scene.Training();
  scene.TrainerPodEnded(0, 70);
  scene.TrainerPodEnded(1, 70);
  scene.cluster().RunAll();
  // The status is written, and the operator crashes before it deletes anything.
  const std::string resource_version = scene.cluster().training().meta.resource_version;
  ASSERT_TRUE(scene.cluster().WriteStatus(scene.NextPlan().status, resource_version).ok());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(scene.NextPlan().status.attempts_counted, 1);
    EXPECT_EQ(scene.NextPlan().status.incarnation, 2);
  }
  EXPECT_THAT(Described(scene.NextPlan().actions), Contains("delete Job cora-trainer-1"));
}

TEST(TrainerStageTest, TheNextJobWaitsForTheLastPodOfTheOldOne) {
  Scene scene;
  scene.Training();
  const std::string slow = scene.TrainerPod(1);
  scene.cluster().FindPod(slow)->node = "";  // no kubelet ends it
  scene.cluster().FindPod(slow)->node = "node-of-its-own";
  scene.cluster().LoseNode("node-of-its-own");
  scene.TrainerPodEnded(0, 75);
  scene.SettleWithin(seconds(20));
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.ReasonOf(api::kTrainersReady), kOldPodsRemain);
  EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-trainer-2"));
  scene.cluster().RestoreNode("node-of-its-own");
  scene.SettleWithin(seconds(20));
  EXPECT_TRUE(scene.cluster().Has(kube::kJobs, "cora-trainer-2"));
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// Meanwhile the data is read from the servers of the first group.
TEST(TrainerStageTest, TheNextIncarnationWaitsForTheFirstServersNotForTheirReplicas) {
  Scene scene = Scene::With({{"servers", {{"replicasPerPartition", 2}}}});
  scene.Training();
  scene.TrainerPodEnded(0, 70);
  scene.TrainerPodEnded(1, 70);
  const auto begins_without = [&](const std::string& pod) {
    scene.cluster().SetReady(pod, false);
    const Plan plan = scene.NextPlan();
    scene.cluster().SetReady(pod, true);
    const std::vector<std::string> actions = Described(plan.actions);
    return std::find(actions.begin(), actions.end(), "apply Job cora-trainer-2") != actions.end();
  };
  scene.cluster().RunAll();
  bool has_begun = false;
  for (int second = 0; second < 120 && !has_begun; ++second) {
    EXPECT_FALSE(begins_without("cora-server-0-1"));
    has_begun = begins_without("cora-server-1-1");
    if (has_begun) break;
    scene.Act();
    scene.cluster().Pass(seconds(1));
  }
  EXPECT_TRUE(has_begun);
}

// The peers of a lost node notice first, and can only report that a peer is gone.
TEST(TrainerStageTest, DeadNodeIsNotCounted) {
  Scene scene;
  scene.Training();
  const std::string silent = scene.TrainerPod(1);
  scene.cluster().FindPod(silent)->node = "node-of-its-own";
  ASSERT_TRUE(scene.cluster().EndPod(scene.TrainerPod(0), {.exit_code = 74}));
  scene.cluster().RunJobController();
  scene.cluster().LoseNode("node-of-its-own");
  scene.SettleWithin(seconds(20));
  EXPECT_EQ(scene.ReasonOf(api::kRestarting), kCollecting);
  scene.SettleWithin(std::chrono::minutes(8));
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.restart_reason(), kNodeLost);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(TrainerStageTest, HangingPeerIsCounted) {
  Scene scene;
  scene.Training();
  scene.TrainerPodEnded(0, 74);  // the other trainer is asked to end, and does
  scene.SettleWithin(seconds(60));
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().attempts_counted, 1);
}

TEST(TrainerStageTest, RestartRewritesJobDocument) {
  Scene scene;
  scene.Training();
  scene.cluster().DeleteChild(kube::kConfigMaps, "cora-config-1", kube::Propagation::kBackground);
  scene.Settle();
  EXPECT_TRUE(scene.cluster().Has(kube::kConfigMaps, "cora-config-1"));
  EXPECT_EQ(scene.status().incarnation, 1);
}

TEST(TrainerStageTest, JobMissingOnlyInCacheIsNotReplaced) {
  Scene scene;
  scene.Training();
  Observed seen = scene.cluster().Now();
  std::erase_if(seen.jobs, [](const auto& job) { return job->meta.key.name == "cora-trainer-1"; });
  const Lookups lookups = CollectLookups(scene.cluster().training(), seen, scene.cluster().now());
  EXPECT_THAT(lookups.vanished_jobs, ElementsAre("cora-trainer-1"));
  EXPECT_EQ(MakePlan(scene.cluster().training(), seen, {}, scene.cluster().now()).status.incarnation, 1);
  seen.confirmed_gone = lookups.vanished_jobs;
  EXPECT_EQ(MakePlan(scene.cluster().training(), seen, {}, scene.cluster().now()).status.incarnation, 2);
}

TEST(TrainerStageTest, CompletedTrainersStayReadyUntilJobCountsThem) {
  Scene scene;
  scene.Training();
  scene.TrainersDone();
  scene.cluster().FindJob("cora-trainer-1")->ready = 0;
  ASSERT_EQ(scene.cluster().FindJob("cora-trainer-1")->succeeded, 0);
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(plan.status.phase, Phase::kTraining);
  EXPECT_TRUE(api::IsTrue(plan.status, api::kTrainersReady));
  EXPECT_THAT(plan.events, IsEmpty());
}

TEST(TrainerStageTest, CompletedTrainersStayReadyUntilPodsEnd) {
  Scene scene;
  scene.Training();
  scene.TrainersDone();
  scene.cluster().FindJob("cora-trainer-1")->ready = 0;
  for (int rank = 0; rank < scene.status().trainer_replicas; ++rank) {
    kube::Pod* pod = scene.cluster().FindPod(scene.TrainerPod(rank));
    pod->phase = kube::PodPhase::kRunning;
    pod->ready = false;
  }
  EXPECT_EQ(scene.NextPlan().status.phase, Phase::kTraining);
}

TEST(TrainerStageTest, BadInputIsNeverRetried) {
  for (const int code : {64, 65}) {
    Scene scene;
    scene.Training();
    scene.TrainerPodEnded(1, code);
    scene.Settle();
    EXPECT_EQ(scene.status().phase, Phase::kFailed);
    EXPECT_EQ(scene.ReasonOf(api::kFailed), code == 64 ? "BadDocument" : "BadInput");
    EXPECT_EQ(scene.status().last_error->exit_code, code);
    EXPECT_EQ(scene.status().incarnation, 1);
    EXPECT_THAT(scene.cluster().Has(kube::kStatefulSets, "cora-server-0"), false);
  }
}

TEST(TrainerStageTest, FailuresStopExactlyAtLimit) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 2}}}});
  scene.Training();
  for (int failure = 1; failure <= 3; ++failure) {
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
    scene.TrainerPodEnded(0, 137, "OOMKilled");
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.status().attempts_counted, failure);
  }
  EXPECT_EQ(scene.status().phase, Phase::kFailed);
  EXPECT_EQ(scene.ReasonOf(api::kFailed), kBackoffLimitExceeded);
  EXPECT_EQ(scene.status().last_error->reason, "OOMKilled");
  EXPECT_EQ(scene.status().incarnation, 3);
}

TEST(TrainerStageTest, ExternalStopIsRetriedAndNotCounted) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 0}}}});
  scene.Training();
  for (int stop = 1; stop <= 5; ++stop) {
    scene.TrainerPodEnded(0, 75);
    scene.TrainerPodEnded(1, 75);
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
    EXPECT_EQ(scene.status().incarnation, 1 + stop);
  }
  EXPECT_EQ(scene.status().attempts_counted, 0);
}

TEST(TrainerStageTest, ALostNodeIsRecoveredFromAndNotCounted) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 0}}}});
  scene.Training();
  const std::string lost = scene.TrainerPod(1);
  scene.cluster().LoseNode(scene.cluster().NodeOf(lost));
  scene.SettleWithin(seconds(25));
  EXPECT_EQ(scene.status().phase, Phase::kRestarting);
  EXPECT_EQ(scene.restart_reason(), kDisrupted);
  EXPECT_NE(scene.cluster().FindPod(lost), nullptr);
  scene.SettleWithin(seconds(60));
  EXPECT_EQ(scene.cluster().FindPod(lost), nullptr);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().attempts_counted, 0);
}

TEST(TrainerStageTest, ReasonMayArriveAfterFailureTarget) {
  Scene scene;
  scene.Training();
  scene.TrainerPodEnded(0, 74);  // a peer ran out of memory; its kubelet reports later
  const std::string other = scene.TrainerPod(1);
  scene.cluster().RunJobController();  // asks the other to end
  scene.cluster().RunJobController();  // reports that the Job fails
  scene.NextPlan();
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(plan.status.incarnation, 1);
  EXPECT_EQ(plan.status.phase, Phase::kRestarting);
  EXPECT_EQ(plan.requeue_after, std::chrono::nanoseconds(seconds(3)));
  ASSERT_TRUE(scene.cluster().WriteStatus(plan.status, scene.cluster().training().meta.resource_version).ok());

  scene.cluster().Pass(seconds(1));
  EXPECT_TRUE(scene.cluster().EndPod(other, {.exit_code = 137, .reason = "OOMKilled"}));
  scene.cluster().RunJobController();
  EXPECT_EQ(scene.NextPlan().status.restart_reason, "OOMKilled");
}

TEST(TrainerStageTest, JobWithoutPodsIsCountedAfterWait) {
  Scene scene;
  scene.Training();
  kube::Job* job = scene.cluster().FindJob("cora-trainer-1");
  for (int rank = 0; rank < 2; ++rank) scene.cluster().DeletePod(scene.TrainerPod(rank));
  scene.cluster().RunAll();
  ASSERT_TRUE(job->has_failed);
  scene.Settle();
  EXPECT_EQ(scene.status().incarnation, 1);
  scene.SettleAfter(seconds(3));
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.restart_reason(), kNoEvidence);
  EXPECT_EQ(scene.status().attempts_counted, 1);
}

TEST(TrainerStageTest, BackoffDoublesAndSurvivesOperatorRestart) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 10}}}});
  scene.Training();
  for (const seconds delay : {seconds(10), seconds(20), seconds(40)}) {
    const int64_t incarnation = scene.status().incarnation;
    scene.TrainerPodEnded(0, 70);
    scene.TrainerPodEnded(1, 70);
    scene.Settle();
    EXPECT_EQ(scene.status().incarnation, incarnation + 1);
    EXPECT_EQ(scene.ReasonOf(api::kTrainersReady), kBackoff);
    EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::nanoseconds(delay));
    scene.SettleAfter(delay - seconds(1));
    EXPECT_EQ(scene.status().phase, Phase::kRestarting);
    scene.SettleAfter(seconds(1));
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
    EXPECT_EQ(scene.ReasonOf(api::kRestarting), kRecovered);
  }
}

TEST(TrainerStageTest, BackoffHasLimit) {
  api::Status status;
  status.restart_reason = "Internal";
  status.attempts_counted = 1000000;
  api::SetCondition(&status, {.type = api::kRestarting, .status = ConditionStatus::kTrue}, kube::WallTime{});
  EXPECT_EQ(*EarliestStart(status, kube::WallTime{} + std::chrono::hours(1)), kube::WallTime{} + kMaxBackoff);
  EXPECT_TRUE(IsExhausted(status, 3));
}

TEST(TrainerStageTest, ScalingStartsAnIncarnationThatIsNotCounted) {
  Scene scene;
  scene.Training();
  scene.Edit({{"trainers", {{"replicas", 3}}}});
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().trainer_replicas, 3);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.restart_reason(), kScaled);
  EXPECT_EQ(scene.Pods("cora-trainer-2").size(), 3u);
  EXPECT_THAT(scene.Pods("cora-trainer-1"), IsEmpty());
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(TrainerStageTest, ScalingDoesNotCutABackoffShort) {
  Scene scene;
  scene.Training();
  scene.TrainerPodEnded(0, 70);
  scene.TrainerPodEnded(1, 70);
  scene.Settle();
  scene.Edit({{"trainers", {{"replicas", 1}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().trainer_replicas, 1);
  EXPECT_EQ(scene.restart_reason(), "Internal");
  EXPECT_EQ(scene.ReasonOf(api::kTrainersReady), kBackoff);
  scene.SettleAfter(seconds(10));
  EXPECT_EQ(scene.Pods("cora-trainer-3").size(), 1u);
}

TEST(TrainerStageTest, DeletedJobStartsNewIncarnation) {
  Scene scene;
  scene.Training();
  scene.cluster().DeleteChild(kube::kJobs, "cora-trainer-1", kube::Propagation::kBackground);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.restart_reason(), kJobDeleted);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(TrainerStageTest, UnseenJobKeepsItsIncarnation) {
  Scene scene;
  scene.PartitionJobDone();
  const Plan plan = scene.NextPlan();  // incarnation 1
  ASSERT_TRUE(scene.cluster().WriteStatus(plan.status, scene.cluster().training().meta.resource_version).ok());
  scene.Settle();  // by a restarted operator
  EXPECT_EQ(scene.status().incarnation, 1);
  EXPECT_EQ(scene.status().attempts_total, 1);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(TrainerStageTest, ServerRestartKeepsTrainers) {
  Scene scene;
  scene.Training();
  scene.cluster().SetReady("cora-server-0-1", false);
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(plan.status.incarnation, 1);
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(api::FindCondition(plan.status, api::kServersReady)->reason, kNotAllReady);
  EXPECT_EQ(plan.status.phase, Phase::kTraining);
}

TEST(TrainerStageTest, ANewIncarnationWaitsForTheServers) {
  Scene scene;
  scene.Training();
  scene.cluster().LoseNode(scene.cluster().NodeOf("cora-server-0-1"));
  scene.TrainerPodEnded(0, 75);
  scene.TrainerPodEnded(1, 75);
  scene.SettleWithin(seconds(20));
  EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-trainer-2"));
  scene.SettleWithin(seconds(60));  // the server's pod is force-deleted
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(TrainerStageTest, SuccessOfEarlierIncarnationCounts) {
  Scene scene;
  scene.Training();
  const std::vector<std::string> pods = scene.Pods("cora-trainer-1");
  scene.Edit({{"trainers", {{"replicas", 4}}}});
  scene.Act();  // dry run of the templates
  const Plan plan = scene.NextPlan();
  ASSERT_EQ(plan.status.incarnation, 2);
  ASSERT_TRUE(scene.cluster().WriteStatus(plan.status, scene.cluster().training().meta.resource_version).ok());
  for (const std::string& pod : pods) EXPECT_TRUE(scene.cluster().EndPod(pod, {.exit_code = 0}));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSucceeded);
}

TEST(TrainerStageTest, RunningGroupSurvivesFailedReplacement) {
  Scene scene;
  scene.Training();
  scene.cluster().set_template_error("trainers.template: forbidden by policy");
  scene.Edit({{"trainers", {{"replicas", 4}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().incarnation, 1);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.ReasonOf(api::kAccepted), kInvalidTemplate);
  scene.cluster().set_template_error({});
  scene.Settle();
  EXPECT_EQ(scene.status().trainer_replicas, 4);
}

TEST(TrainerStageTest, PermanentFailureOfServersOrSamplersFailsJob) {
  for (const char* pod : {"cora-server-0-1", "cora-sampler-0"}) {
    Scene scene = Scene::With({{"samplers", {{"replicas", 1}}}});
    scene.Training();
    ASSERT_TRUE(scene.cluster().EndPod(pod, {.exit_code = 65}));
    scene.Settle();
    EXPECT_EQ(scene.status().phase, Phase::kFailed);
    EXPECT_EQ(scene.ReasonOf(api::kFailed), "BadInput");
    EXPECT_EQ(scene.status().last_error->pod, pod);
    EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-trainer-1"));
  }
}

}  // namespace
}  // namespace espalier::ctl::plan
