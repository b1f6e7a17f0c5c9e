// Tests that jobs are suspended, resumed and ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using api::Phase;
using std::chrono::seconds;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kSoon;
using testing::PartitionEnding;
using testing::Scene;

TEST(SuspensionTest, TrainersEndBeforeServers) {
  Scene scene;
  scene.Training();
  scene.Suspend();
  scene.Act();  // dry run of the templates; trainers are asked to end at once
  const Plan plan = scene.NextPlan();
  EXPECT_THAT(Described(plan.actions), ElementsAre("apply StatefulSet cora-server-0"));
  EXPECT_EQ(kube::IntegerAt(std::get<ApplyChild>(plan.actions[0]).object, {"spec", "replicas"}), 0);
  EXPECT_EQ(plan.status.phase, Phase::kSuspending);
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_TRUE(scene.cluster().Now().pods.empty());
}

TEST(SuspensionTest, SuspendedOnlyWithoutPods) {
  Scene scene;
  scene.Training();
  const std::string trainer = scene.TrainerPod(0);
  scene.cluster().FindPod(trainer)->node = "node-of-its-own";
  scene.cluster().LoseNode("node-of-its-own");
  scene.Suspend();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspending);
  EXPECT_EQ(scene.cluster().FindSet("cora-server-0")->wanted, 2);
  scene.cluster().RestoreNode("node-of-its-own");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
}

TEST(SuspensionTest, ResumeIsUncountedIncarnationAndRestartsDeadline) {
  Scene scene;
  scene.Training();
  const auto first_start = scene.status().started_at;
  scene.Suspend();
  scene.Settle();
  scene.cluster().Pass(seconds(1000));
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.restart_reason(), kResumed);
  EXPECT_EQ(scene.status().started_at, *first_start + seconds(1000));
  EXPECT_EQ(scene.ReasonOf(api::kSuspended), kResumed);
}

TEST(SuspensionTest, JobCreatedSuspendedCreatesNothing) {
  Scene scene = Scene::With({{"runPolicy", {{"suspend", true}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_FALSE(scene.status().started_at.has_value());
  EXPECT_TRUE(scene.cluster().Now().others.empty());
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
  EXPECT_TRUE(scene.status().started_at.has_value());
}

TEST(SuspensionTest, PartitionerRestartIsNotCounted) {
  Scene scene;
  scene.Partitioning();
  scene.Suspend();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().partition_attempt, 2) << "another group of partitioners";
  EXPECT_EQ(scene.Pods("cora-partition-2").size(), 1u);
}

TEST(SuspensionTest, ImagesMayChangeWhileSuspended) {
  Scene scene;
  scene.Training();
  scene.Suspend();
  scene.Settle();
  scene.Edit({{"trainers", {{"image", "trainer:2"}}}});
  scene.Settle();
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().images.at("trainer"), "trainer:2");
  EXPECT_EQ(scene.status().images.at("server"), "espalier/core:1");
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(SuspensionTest, TrainersWhoseDeviceChangesMeanwhileGetTheImageOfTheDevice) {
  Scene scene;
  scene.Training();
  const char* image = "espalier/trainer:1";
  for (const char* device : {"CUDA", "CPU"}) {
    EXPECT_EQ(scene.status().images.at("trainer"), image);
    scene.Suspend();
    scene.Settle();
    scene.Edit({{"trainers", {{"device", device}}}});
    scene.Resume();
    scene.Settle();
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
    image = std::string(device) == "CUDA" ? "espalier/trainer-cuda:1" : "espalier/trainer:1";
  }
  EXPECT_EQ(scene.status().images.at("trainer"), image);
  EXPECT_EQ(scene.status().incarnation, 3);
}

// An operator that gets an image with CUDA later does not restart trainers that run.
TEST(SuspensionTest, RunningTrainersKeepTheImageWithoutCuda) {
  Scene scene = Scene::With({{"trainers", {{"device", "CUDA"}, {"image", "espalier/trainer:1"}}}});
  scene.Training();
  scene.Edit({{"trainers", {{"image", nullptr}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().images.at("trainer"), "espalier/trainer:1");
  EXPECT_EQ(scene.status().incarnation, 1);
}

// The API server refuses that change. If it did not, the operator's default image must not be used with checkpoints of
// another image.
TEST(SuspensionTest, OmittedImageStays) {
  Scene scene = Scene::With({{"trainers", {{"image", "trainer:2"}}}});
  scene.Training();
  scene.Suspend();
  scene.Settle();
  scene.Edit({{"trainers", {{"image", nullptr}}}});
  scene.Settle();
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().images.at("trainer"), "trainer:2");
}

TEST(SuspensionTest, FailingDryRunDoesNotBlockSuspension) {
  Scene scene;
  scene.Training();
  scene.Suspend();
  const std::vector<std::string> actions = Described(scene.NextPlan().actions);
  ASSERT_GE(actions.size(), 2u);
  EXPECT_EQ(actions.front(), "delete Job cora-trainer-1");
  EXPECT_EQ(actions.back(), "dry run");
}

TEST(SuspensionTest, BegunSuspensionCompletesAlthoughTheJobIsResumed) {
  Scene scene;
  scene.Training();
  const std::string trainer = scene.TrainerPod(0);
  scene.cluster().FindPod(trainer)->node = "node-of-its-own";
  scene.cluster().LoseNode("node-of-its-own");
  scene.Suspend();
  scene.Settle();
  scene.Edit({{"trainers", {{"image", "trainer:2"}}}});
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspending);
  scene.cluster().RestoreNode("node-of-its-own");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().images.at("trainer"), "trainer:2");
}

TEST(SuspensionTest, UnobservedSuspensionRestartsTrainers) {
  Scene scene;
  scene.Training();
  scene.Suspend();
  scene.Edit({{"trainers", {{"image", "trainer:2"}}}});
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().images.at("trainer"), "trainer:2");
  EXPECT_THAT(scene.Pods("cora-trainer-1"), IsEmpty());
}

TEST(SuspensionTest, TrainersRestartBeforeSamplersAreRemoved) {
  Scene scene = Scene::With({{"samplers", {{"replicas", 2}}}});
  scene.Training();
  scene.Suspend();
  scene.Edit({{"samplers", {{"replicas", 0}}}});
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_FALSE(scene.cluster().Has(kube::kStatefulSets, "cora-sampler"));
}

TEST(SuspensionTest, NewDefaultsOfOperatorSuspendNothing) {
  Scene scene = Scene::With({{"samplers", {{"replicas", 2}}}});
  scene.Training();
  scene.Edit({{"runPolicy", {{"activeDeadlineSeconds", 100000}}}});
  scene.Act();  // asks for a dry run
  const int64_t generation = scene.cluster().training().meta.generation;
  const Plan plan =
      MakePlan(scene.cluster().training(), scene.cluster().Now(),
               {.core_image = "espalier/core:2", .trainer_image = "espalier/trainer:2"}, scene.cluster().now());
  EXPECT_EQ(api::FindCondition(plan.status, api::kAccepted)->observed_generation, generation);
  EXPECT_EQ(plan.status.phase, Phase::kTraining);
  EXPECT_EQ(plan.status.images, scene.status().images);
  EXPECT_THAT(Described(plan.actions), IsEmpty());
}

TEST(SuspensionTest, RefusedTemplatesDoNotBlockSuspensionOfServers) {
  Scene scene;
  scene.Training();
  scene.cluster().set_template_error("servers.template: unknown field \"spec.nodeSelektor\"");
  scene.Suspend();  // the document has the error too
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(scene.ReasonOf(api::kAccepted), kInvalidTemplate);
  EXPECT_THAT(scene.cluster().Now().stateful_sets, IsEmpty());
  scene.cluster().set_template_error({});
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(SuspensionTest, AJobThatCannotBeResumedStaysSuspended) {
  Scene scene;
  scene.Training();
  scene.Suspend();
  scene.Settle();
  scene.cluster().set_template_error("trainers.template: unknown field \"spec.nodeSelektor\"");
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(scene.ReasonOf(api::kAccepted), kInvalidTemplate);
}

TEST(PartitionStageTest, AFailedAttemptIsFollowedByAnotherAfterItsDelay) {
  Scene scene;
  scene.Partitioning();
  scene.PartitionPodEnded({.exit_code = 74});
  scene.Settle();
  EXPECT_EQ(scene.status().partition_attempt, 2);
  EXPECT_EQ(scene.status().attempts_counted, 1);
  EXPECT_EQ(scene.status().phase, Phase::kRestarting);
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kBackoff);
  EXPECT_THAT(scene.Pods("cora-partition-1"), IsEmpty());
  scene.SettleAfter(seconds(10));
  EXPECT_EQ(scene.Pods("cora-partition-2").size(), 1u);
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
}

TEST(PartitionStageTest, BadInputFailsTheJob) {
  Scene scene;
  scene.Partitioning();
  scene.PartitionPodEnded({.exit_code = 65, .message = R"({"exitCode": 65, "message": "node-feat has 3 rows"})"});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kFailed);
  EXPECT_EQ(scene.status().last_error->message, "node-feat has 3 rows");
  EXPECT_EQ(scene.status().last_error->role, "partitioner");
}

TEST(PartitionStageTest, AttemptsCountAgainstTheSameLimitAsTrainers) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 1}}}});
  scene.Partitioning();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    scene.PartitionPodEnded({.exit_code = 70});
    scene.SettleWithin(kSoon);
  }
  EXPECT_EQ(scene.ReasonOf(api::kFailed), kBackoffLimitExceeded);
}

TEST(PartitionStageTest, PartitionerWithoutResultHasFailed) {
  for (const char* said : {"", "{}", R"({"exitCode": 0, "partition": {"hash": "../../elsewhere"}})",
                           R"({"exitCode": 0, "partition": {"hash": 7}})", "\xff"}) {
    Scene scene;
    scene.Partitioning();
    scene.PartitionPodEnded({.exit_code = 0, .message = said});
    scene.Settle();
    EXPECT_FALSE(scene.status().partition.has_value()) << said;
    EXPECT_EQ(scene.status().partition_attempt, 2) << said;
    EXPECT_EQ(scene.status().attempts_counted, 1) << said;
  }
}

TEST(PartitionStageTest, LostResultIsRetriedAndCounted) {
  Scene scene;
  scene.Partitioning();
  const std::string pod = scene.Pods("cora-partition-1").front();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.cluster().DeletePod(pod);
  scene.cluster().RunAll();
  ASSERT_EQ(scene.cluster().FindPod(pod), nullptr);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().partition_attempt, 2);
  EXPECT_EQ(scene.status().attempts_counted, 1);
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// Jobs and pods have separate watches, and one of them may be minutes behind.
TEST(PartitionStageTest, ResultIsNotLostWhileCacheShowsRunningPod) {
  Scene scene;
  scene.Partitioning();
  kube::Pod* pod = scene.cluster().FindPod(scene.Pods("cora-partition-1").front());
  const kube::Pod at_work = *pod;
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  const kube::Pod done = *pod;
  ASSERT_TRUE(scene.cluster().FindJob("cora-partition-1")->complete);

  *pod = at_work;
  scene.cluster().Pass(seconds(10));
  const Plan waits = scene.NextPlan();
  EXPECT_EQ(waits.status.partition_attempt, 1);
  EXPECT_EQ(waits.status.attempts_counted, 0);
  EXPECT_FALSE(waits.status.partition.has_value());
  *pod = done;
  EXPECT_TRUE(scene.NextPlan().status.partition.has_value());

  *pod = at_work;
  scene.cluster().Pass(std::chrono::minutes(10));
  EXPECT_EQ(scene.NextPlan().status.partition_attempt, 2);
}

TEST(PartitionStageTest, PodsOfEndedJobAreLookedUp) {
  Scene scene;
  scene.Partitioning();
  scene.cluster().FindJob("cora-partition-1")->complete = true;
  Observed seen = scene.cluster().Now();
  const auto asked = [&] {
    return CollectLookups(scene.cluster().training(), seen, scene.cluster().now()).unseen_pods_of;
  };
  EXPECT_THAT(asked(), IsEmpty());
  seen.pods.clear();
  EXPECT_THAT(asked(), ElementsAre("cora-partition-1"));
}

kube::Json SeveralPartitioners(int replicas) {
  return {{"partitioner", {{"replicas", replicas}}},
          {"graph", {{"source", {{"format", "NPY"}}}, {"partitions", {{"algorithm", "Streaming"}}}}}};
}

TEST(PartitionStageTest, GroupOfPartitionersFailsWithStrongestReason) {
  Scene scene = Scene::With(SeveralPartitioners(3));
  scene.Partitioning();
  const std::vector<std::string> pods = scene.Pods("cora-partition-1");
  ASSERT_EQ(pods.size(), 3u);
  EXPECT_EQ(scene.status().replicas.at("partitioner").wanted, 3);
  EXPECT_TRUE(scene.cluster().EndPod(pods[1], {.exit_code = 74}));  // it has lost its peer
  EXPECT_TRUE(scene.cluster().EndPod(pods[2], {.exit_code = 137, .reason = "OOMKilled"}));
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().partition_attempt, 2);
  EXPECT_EQ(scene.status().attempts_counted, 1);
  EXPECT_EQ(scene.restart_reason(), kOutOfMemory);
  EXPECT_EQ(scene.status().last_error->pod, pods[2]);
  EXPECT_THAT(scene.Pods("cora-partition-1"), IsEmpty());
  EXPECT_EQ(scene.Pods("cora-partition-2").size(), 3u);
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().partition->hash, "0123abcd");
  EXPECT_EQ(scene.status().replicas.at("partitioner").wanted, 0);
}

TEST(PartitionStageTest, NumberOfPartitionersMayChangeWhileSuspended) {
  Scene scene = Scene::With(SeveralPartitioners(3));
  scene.Partitioning();
  scene.Suspend();
  scene.Settle();
  scene.Edit(SeveralPartitioners(2));
  scene.Settle();
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.Pods("cora-partition-2").size(), 2u);
  EXPECT_EQ(scene.status().attempts_counted, 0);
}

TEST(PartitionStageTest, ResultOutlivesDeletedJob) {
  Scene scene;
  scene.Training();
  scene.cluster().DeleteChild(kube::kJobs, "cora-partition-1", kube::Propagation::kBackground);
  scene.Settle();
  EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-partition-1"));
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// Another writer deleted the Job. The next attempt must not use what the group left in the store.
TEST(PartitionStageTest, AJobThatIsDeletedIsFollowedByTheNextAttempt) {
  Scene scene;
  scene.Partitioning();
  scene.cluster().DeleteChild(kube::kJobs, "cora-partition-1", kube::Propagation::kBackground);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.Pods("cora-partition-2").size(), 1u);
  EXPECT_EQ(scene.restart_reason(), kJobDeleted);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
}

// A sidecar that does not end keeps the Job from completing.
TEST(EndTest, ADeadlineThatIsSetLateDoesNotFailAJobWhoseTrainersHaveAllEndedWell) {
  for (const int exit_code_of_the_last : {0, 1}) {
    Scene scene;
    scene.Training();
    scene.SettleAfter(std::chrono::minutes(5));
    for (int rank = 0; rank < 2; ++rank) {
      kube::Pod* const pod = scene.cluster().FindPod(scene.TrainerPod(rank));
      pod->containers.front().ended = kube::ContainerEnd{.exit_code = rank == 1 ? exit_code_of_the_last : 0,
                                                         .signal = 0,
                                                         .reason = "Completed",
                                                         .message = {},
                                                         .finished_at = scene.cluster().now()};
      pod->containers.push_back({.name = "proxy", .ready = true});
    }
    scene.Edit({{"runPolicy", {{"activeDeadlineSeconds", 60}}}});  // before the operator sees the ends
    scene.Settle();
    EXPECT_EQ(scene.status().phase, exit_code_of_the_last == 0 ? Phase::kSucceeded : Phase::kFailed);
  }
}

TEST(EndTest, TheDeadlineCountsFromTheLastResume) {
  Scene scene = Scene::With({{"runPolicy", {{"activeDeadlineSeconds", 100}}}});
  scene.Training();
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::nanoseconds(seconds(100)));
  scene.SettleAfter(seconds(99));
  scene.Suspend();
  scene.Settle();
  scene.SettleAfter(seconds(500));
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  scene.Resume();
  scene.Settle();
  scene.SettleAfter(seconds(99));
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  scene.SettleAfter(seconds(1));
  EXPECT_EQ(scene.status().phase, Phase::kFailed);
  EXPECT_EQ(scene.ReasonOf(api::kFailed), kDeadlineExceeded);
  EXPECT_TRUE(scene.cluster().Now().pods.empty() || !scene.cluster().Has(kube::kJobs, "cora-trainer-2"));
}

}  // namespace
}  // namespace espalier::ctl::plan
