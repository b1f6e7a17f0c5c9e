// Tests a group that fails while its pods are ending, and causes that are remembered after the pods are gone.

#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using api::Phase;
using std::chrono::seconds;
using testing::kSoon;
using testing::Scene;

// After kubectl delete pod the Job fails at once, the trainers write a checkpoint first, and their pods disappear with
// their termination messages.
TEST(JobFailureTest, DeletedPodIsNotCountedIfGroupEndsLate) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 0}}}});
  scene.Training();
  for (int rank = 0; rank < 2; ++rank) scene.cluster().FindPod(scene.TrainerPod(rank))->node = "node-that-is-busy";
  scene.cluster().DeletePod(scene.TrainerPod(0));
  scene.cluster().RunJobController();
  scene.cluster().LoseNode("node-that-is-busy");
  scene.Settle();
  for (int second = 0; second < 20; ++second) scene.SettleAfter(seconds(1));
  EXPECT_EQ(scene.ReasonOf(api::kRestarting), kCollecting);
  EXPECT_EQ(scene.status().incarnation, 1);
  scene.cluster().RestoreNode("node-that-is-busy");
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.restart_reason(), "Stopped");
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(JobFailureTest, DeletedPodThatNeverEndsIsNotCounted) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 0}}}});
  scene.Training();
  const std::string deleted = scene.TrainerPod(0);
  scene.cluster().FindPod(deleted)->node = "node-of-its-own";
  scene.cluster().DeletePod(deleted);
  scene.cluster().LoseNode("node-of-its-own");
  scene.Settle();
  scene.SettleAfter(seconds(59));  // 30 s of grace period, then 30 s of forceDeleteAfterSeconds
  EXPECT_EQ(scene.ReasonOf(api::kRestarting), kCollecting);
  EXPECT_EQ(scene.status().incarnation, 1);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.cluster().FindPod(deleted), nullptr);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.restart_reason(), kNodeLost);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// A machine is off for a shorter time than any timeout. The peer of the trainer there notices first, and the Job
// controller deletes the trainer's pod.
TEST(JobFailureTest, ReturningNodeIsNotCountedIfPeerEndedBefore) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 0}}}});
  scene.Training();
  const std::string lost = scene.TrainerPod(1);
  scene.cluster().FindPod(lost)->node = "node-of-its-own";
  scene.TrainerPodEnded(0, 74);
  scene.cluster().RunJobController();
  scene.cluster().LoseNode("node-of-its-own");
  scene.Settle();
  scene.SettleAfter(seconds(10));
  ASSERT_EQ(scene.ReasonOf(api::kRestarting), kCollecting);
  scene.cluster().RestoreNode("node-of-its-own");
  ASSERT_TRUE(scene.cluster().EndPod(lost, {.exit_code = 255, .reason = "Unknown"}));
  scene.Act();
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.restart_reason(), kNodeLost);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(JobFailureTest, ReturningNodeIsNotCountedIfPeerEndsAfter) {
  Scene scene = Scene::With({{"runPolicy", {{"backoffLimit", 0}}}});
  scene.Training();
  ASSERT_TRUE(scene.cluster().EndPod(scene.TrainerPod(1), {.exit_code = 255, .reason = "Unknown"}));
  scene.TrainerPodEnded(0, 74);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.restart_reason(), kNodeLost);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// A pod exists until its Job has counted it, and its Node object may be gone: the disruption is seen once.
TEST(JobFailureTest, DisruptionIsRecordedAfterPodIsGone) {
  Scene scene = Scene::With({{"trainers", {{"replicas", 3}}}, {"runPolicy", {{"backoffLimit", 0}}}});
  scene.Training();
  const std::string lost = scene.TrainerPod(0);
  kube::Pod* pod = scene.cluster().FindPod(lost);
  pod->node = scene.cluster().FindPod(scene.TrainerPod(2))->node = "node-of-its-own";
  scene.TrainerPodEnded(1, 74);  // before it was asked to end: it reports that a peer is gone
  pod->phase = kube::PodPhase::kFailed;
  pod->disruption_target = true;
  scene.cluster().DeletePod(lost);
  scene.cluster().RunJobController();
  scene.cluster().LoseNode("node-of-its-own");
  scene.Settle();
  ASSERT_EQ(scene.ReasonOf(api::kRestarting), kCollecting);
  ASSERT_TRUE(scene.cluster().Do(DeleteChild{&kube::kPods, pod->meta.key, pod->meta.uid, /*force=*/true}).ok());
  ASSERT_EQ(scene.cluster().FindPod(lost), nullptr);
  scene.cluster().RestoreNode("node-of-its-own");
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.restart_reason(), kDisrupted);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(JobFailureTest, CrashIsCountedIfPodIsDeletedMeanwhile) {
  Scene scene;
  scene.Training();
  const std::string crashed = scene.TrainerPod(0);
  scene.cluster().FindPod(scene.TrainerPod(1))->node = "node-that-is-busy";
  scene.TrainerPodEnded(0, 70);
  scene.cluster().RunJobController();
  scene.cluster().LoseNode("node-that-is-busy");
  scene.Settle();
  scene.cluster().DeletePod(crashed);
  scene.SettleAfter(seconds(1));
  ASSERT_EQ(scene.cluster().FindPod(crashed), nullptr);
  scene.cluster().RestoreNode("node-that-is-busy");
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().attempts_counted, 1);
  EXPECT_EQ(scene.restart_reason(), "Internal");
}

}  // namespace
}  // namespace espalier::ctl::plan
