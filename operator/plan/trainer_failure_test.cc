// Tests which failures of a group of trainers are counted.

#include "operator/plan/trainer_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/plan/restart_policy.h"
#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using api::Phase;
using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::kSoon;
using testing::Scene;

Scene WithoutRetries() { return Scene::With({{"runPolicy", {{"backoffLimit", 0}}}}); }

// The running trainer waits, until its timeout, for one that fits on no node.
TEST(TrainerFailureTest, TimeoutForUnscheduledTrainerIsNotCounted) {
  Scene scene = WithoutRetries();
  scene.Training();
  for (int incarnation = 1; incarnation <= 3; ++incarnation) {
    scene.cluster().Unschedule(scene.TrainerPod(1), "0/3 nodes are available: 3 Insufficient memory.");
    scene.SettleAfter(seconds(1));
    ASSERT_EQ(scene.ReasonOf(api::kTrainersReady), kUnschedulable);
    scene.TrainerPodEnded(0, 74);
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.restart_reason(), kHeldBack);
    EXPECT_EQ(scene.status().incarnation, incarnation + 1);
    EXPECT_EQ(scene.status().attempts_counted, 0);
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
  }
}

// The Job controller deletes the waiting pod before it reports that the Job fails: a reconcile in between sees neither.
TEST(TrainerFailureTest, BlockerIsRecordedBeforePodIsDeleted) {
  Scene scene = WithoutRetries();
  scene.Training();
  const std::string waiting = scene.TrainerPod(1);
  scene.cluster().Unschedule(waiting, "0/3 nodes are available: 3 Insufficient memory.");
  scene.SettleAfter(std::chrono::minutes(11));
  ASSERT_EQ(scene.ReasonOf(api::kTrainersReady), kUnschedulable);
  scene.TrainerPodEnded(0, 74);
  scene.cluster().RunJobController();
  ASSERT_TRUE(scene.cluster().FindPod(waiting)->meta.deletion_requested_at.has_value());
  ASSERT_FALSE(scene.cluster().FindJob("cora-trainer-1")->failure_target);
  scene.Act();
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), kHeldBack);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// A sidecar holds the pod of the failed trainer: the Job fails only when the operator deletes that pod.
TEST(TrainerFailureTest, BlockerIsKeptUntilAllTrainersRun) {
  for (const bool has_sidecar : {false, true}) {
    for (const bool all_run : {false, true}) {
      Scene scene;
      if (has_sidecar) scene.cluster().InjectSidecar({.name = "istio-proxy"});
      scene.Training();
      scene.cluster().Unschedule(scene.TrainerPod(1), "0/3 nodes are available: 3 Insufficient memory.");
      scene.SettleAfter(seconds(1));
      scene.cluster().FindPod(scene.TrainerPod(1))->unscheduled_message.clear();
      scene.cluster().set_mount_failure("the pod has a node, and no container yet");
      scene.Settle();
      ASSERT_EQ(scene.ReasonOf(api::kTrainersReady), kStarting);
      EXPECT_THAT(scene.MessageOf(api::kTrainersReady), HasSubstr("before by Unschedulable"));
      if (all_run) {
        scene.cluster().set_mount_failure({});
        scene.Settle();
      }
      scene.TrainerPodEnded(0, 74);
      scene.SettleWithin(kSoon);
      EXPECT_EQ(scene.restart_reason(), all_run ? "Unavailable" : kHeldBack) << has_sidecar;
      EXPECT_EQ(scene.status().attempts_counted, all_run ? 1 : 0) << has_sidecar;
    }
  }
}

TEST(TrainerFailureTest, OtherFailureIsCountedDespiteUnscheduledTrainers) {
  Scene scene;
  scene.Training();
  scene.cluster().Unschedule(scene.TrainerPod(1), "0/3 nodes are available: 3 Insufficient memory.");
  scene.SettleAfter(seconds(1));
  scene.TrainerPodEnded(0, 70);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), "Internal");
  EXPECT_EQ(scene.status().attempts_counted, 1);
}

// As after a drain: the new server lacks what trainers had written to the old one.
TEST(TrainerFailureTest, TheLossOfAServersPodIsNotCounted) {
  Scene scene = WithoutRetries();
  scene.Training();
  scene.SettleAfter(std::chrono::minutes(1));
  const std::string server = scene.Pods("cora-server-0").front();
  scene.cluster().DeletePod(server);
  scene.SettleWithin(kSoon);
  ASSERT_NE(scene.cluster().FindPod(server), nullptr);
  scene.TrainerPodEnded(0, 74);
  scene.TrainerPodEnded(1, 74);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), kServerLost);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().incarnation, 2);
  // The server is now older than the trainers.
  scene.SettleAfter(std::chrono::minutes(1));
  scene.TrainerPodEnded(0, 74);
  scene.TrainerPodEnded(1, 74);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.ReasonOf(api::kFailed), kBackoffLimitExceeded);
}

// Such as out of memory once per epoch: it would repeat forever.
TEST(TrainerFailureTest, AServerThatCrashesInItsPodIsCounted) {
  Scene scene;
  scene.Training();
  scene.cluster().Kill(scene.Pods("cora-server-0").front());
  scene.SettleAfter(seconds(5));
  scene.TrainerPodEnded(0, 74);
  scene.TrainerPodEnded(1, 74);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), "Unavailable");
  EXPECT_EQ(scene.status().attempts_counted, 1);
}

constexpr char kExpired[] =
    R"({"reason": "NotPermitted", "exitCode": 77, "message": "tls.crt against ca.crt: certificate has expired"})";

Scene WithManagedCertificates() {
  return Scene::With({{"runPolicy", {{"backoffLimit", 0}}}, {"tls", {{"mode", "Managed"}}}});
}

TEST(TrainerFailureTest, ACertificateThatIsReplacedIsNotCounted) {
  for (const bool expired : {true, false}) {
    Scene scene = WithManagedCertificates();
    scene.Training();
    scene.SettleAfter(std::chrono::minutes(5));
    if (expired) scene.cluster().ExpireCertificates();
    scene.cluster().EndPod(scene.TrainerPod(0), {.exit_code = 77, .message = kExpired});
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.ReasonOf(api::kFailed), expired ? "" : kBackoffLimitExceeded);
    if (!expired) continue;
    EXPECT_EQ(scene.restart_reason(), kCertificatesReplaced);
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
    // Kubelets may still mount the old certificates for a while; after that the failure is counted.
    scene.cluster().EndPod(scene.TrainerPod(0), {.exit_code = 77, .message = kExpired});
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.restart_reason(), kCertificatesReplaced);
    scene.SettleAfter(std::chrono::minutes(5));
    scene.TrainerPodEnded(1, 70);
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.ReasonOf(api::kFailed), kBackoffLimitExceeded);
  }
}

TEST(TrainerFailureTest, CredentialsThatAStoreRefusesAreCountedThoughCertificatesAreReplaced) {
  Scene scene = WithManagedCertificates();
  scene.Training();
  scene.cluster().ExpireCertificates();
  scene.cluster().EndPod(scene.TrainerPod(0), {.exit_code = 77, .message = R"({"message": "s3://lab: AccessDenied"})"});
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.ReasonOf(api::kFailed), kBackoffLimitExceeded);
}

TEST(TrainerFailureTest, PodsDetermineWhenCertificatesAreReread) {
  Scene scene = WithManagedCertificates();
  scene.Training();
  const auto read_since = [&scene] {
    return CollectLookups(scene.cluster().training(), scene.cluster().Now(), scene.cluster().now())
        .certificates_must_be_read_since;
  };
  EXPECT_FALSE(read_since().has_value());
  // A server pod that is created again cannot mount its Secret.
  scene.cluster().set_mount_failure("secret \"cora-server-tls\" not found");
  scene.cluster().DeletePod(scene.Pods("cora-server-0").front());
  scene.Settle();
  EXPECT_FALSE(read_since().has_value()) << "it may only pull its image";
  ASSERT_TRUE(scene.NextPlan().requeue_after.has_value());
  EXPECT_LE(*scene.NextPlan().requeue_after, seconds(15));
  scene.SettleAfter(seconds(15));
  ASSERT_TRUE(read_since().has_value());
  EXPECT_LE(*scene.NextPlan().requeue_after, seconds(30));
  scene.cluster().set_mount_failure({});
  scene.Settle();
  EXPECT_FALSE(read_since().has_value());
  // A server that the kubelet restarts, until it serves again.
  scene.cluster().EndPod(scene.Pods("cora-server-0").front(), {.exit_code = 77, .message = kExpired});
  kube::ContainerState& server = scene.cluster().FindPod(scene.Pods("cora-server-0").front())->containers.front();
  server.ready = false;
  EXPECT_TRUE(read_since().has_value());
  server.ready = true;
  EXPECT_FALSE(read_since().has_value());
}

Scene WithAProgram(int64_t backoff_limit) {
  return Scene::With({{"training", nullptr},
                      {"trainers", {{"program", {{"command", {"my-program"}}}}}},
                      {"runPolicy", {{"backoffLimit", backoff_limit}}}});
}

void Stop(Scene& scene) {
  scene.TrainerPodEnded(0, 75);
  scene.TrainerPodEnded(1, 75);
}

TEST(TrainerFailureTest, EarlyStopOfProgramIsCountedFromSecondTime) {
  Scene scene = WithAProgram(1);
  scene.Training();
  Stop(scene);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), kStoppedSoon);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  Stop(scene);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), kStoppedAgain);
  EXPECT_EQ(scene.status().attempts_counted, 1);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  Stop(scene);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.status().phase, Phase::kFailed);
  EXPECT_EQ(scene.status().incarnation, 3);
  EXPECT_THAT(scene.MessageOf(api::kFailed), HasSubstr("soon after its start"));
}

// Trainers may wait for a node or a volume for hours, which is no work of the program.
TEST(TrainerFailureTest, StartupTimeIsNoRunTime) {
  Scene scene = WithAProgram(1);
  scene.Training();
  scene.cluster().set_mount_failure("no storage");
  Stop(scene);
  scene.SettleWithin(kSoon);
  ASSERT_EQ(scene.restart_reason(), kStoppedSoon);
  scene.SettleAfter(std::chrono::minutes(20));
  scene.cluster().set_mount_failure({});
  scene.Settle();
  Stop(scene);
  scene.Settle();
  EXPECT_EQ(scene.restart_reason(), kStoppedAgain);
  EXPECT_EQ(scene.status().attempts_counted, 1);
}

// A pod that the kubelet forgot has no start.
TEST(TrainerFailureTest, UnknownStartCountsFromJobCreation) {
  for (const auto& [time, reason] : {std::pair(std::chrono::minutes(9), std::string(kStoppedSoon)),
                                     std::pair(std::chrono::minutes(11), std::string("Stopped"))}) {
    Scene scene = WithAProgram(1);
    scene.Training();
    scene.SettleAfter(time);
    for (int rank = 0; rank < 2; ++rank) {
      scene.TrainerPodEnded(rank, 75);
      for (kube::ContainerState& container : scene.cluster().FindPod(scene.TrainerPod(rank))->containers) {
        container.ended->started_at.reset();
      }
    }
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.restart_reason(), reason);
  }
}

TEST(TrainerFailureTest, LongRunResetsCount) {
  Scene scene = WithAProgram(1);
  scene.Training();
  for (int times = 0; times < 3; ++times) {
    scene.SettleAfter(std::chrono::minutes(11));
    Stop(scene);
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.restart_reason(), "Stopped");
    Stop(scene);
    scene.SettleWithin(kSoon);
    EXPECT_EQ(scene.restart_reason(), kStoppedSoon);
  }
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(TrainerFailureTest, DeletedPodIsNoEarlyStop) {
  Scene scene = WithAProgram(0);
  scene.Training();
  for (int rank = 0; rank < 2; ++rank) scene.cluster().FindPod(scene.TrainerPod(rank))->node = "node-that-is-busy";
  scene.cluster().DeletePod(scene.TrainerPod(0));
  scene.cluster().RunJobController();
  scene.cluster().LoseNode("node-that-is-busy");
  scene.SettleAfter(seconds(1));
  scene.cluster().RestoreNode("node-that-is-busy");
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), "Stopped");
  Stop(scene);
  scene.SettleWithin(kSoon);
  EXPECT_EQ(scene.restart_reason(), kStoppedSoon);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// The full delay, as after any failure, so that what the program waits for can arrive.
TEST(TrainerFailureTest, CountedStopHasFullBackoff) {
  Scene scene = WithAProgram(3);
  scene.Training();
  Stop(scene);
  scene.SettleWithin(kSoon);
  Stop(scene);
  scene.Settle();
  ASSERT_EQ(scene.restart_reason(), kStoppedAgain);
  scene.SettleAfter(kShortBackoff + seconds(1));
  EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-trainer-3"));
  scene.SettleAfter(kFirstBackoff);
  EXPECT_TRUE(scene.cluster().Has(kube::kJobs, "cora-trainer-3"));
}

}  // namespace
}  // namespace espalier::ctl::plan
