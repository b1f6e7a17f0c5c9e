// Tests that a running job is still followed when an upgraded operator refuses a document that an older one accepted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/job_failure.h"
#include "operator/plan/reasons.h"
#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Phase;
using std::chrono::seconds;
using ::testing::Contains;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Scene;

// The document stays the same, but is invalid for the new operator.
void Upgrade(Scene& scene) {
  scene.cluster().Edit([](api::DistTraining* training) {
    training->spec.reset();
    training->violations = "spec.output.uri: expected something else";
    --training->meta.generation;
  });
}

void Mend(Scene& scene) { scene.Edit(kube::Json::object()); }

TEST(InvalidSpecTest, RunningJobContinuesWithCondition) {
  Scene scene;
  scene.Training();
  Upgrade(scene);
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kAccepted), kInvalidSpec);
  EXPECT_EQ(scene.status().last_error->reason, kInvalidSpec);
  EXPECT_THAT(scene.status().last_error->message, HasSubstr("spec.output.uri"));
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.Pods("cora-trainer-1").size(), 2u);
}

TEST(InvalidSpecTest, EndIsDetectedAndCleanedUp) {
  Scene scene = Scene::With({{"runPolicy", {{"cleanPodPolicy", "All"}, {"ttlSecondsAfterFinished", 60}}}});
  scene.Training();
  Upgrade(scene);
  scene.Settle();
  scene.TrainersDone();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSucceeded);
  EXPECT_TRUE(scene.cluster().Now().pods.empty());
  scene.cluster().Pass(seconds(60));
  EXPECT_THAT(Described(scene.NextPlan().actions), Contains("delete self"));
}

TEST(InvalidSpecTest, PermanentFailureEndsJob) {
  Scene scene;
  scene.Training();
  Upgrade(scene);
  scene.TrainerPodEnded(0, 65);
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kFailed);
  EXPECT_EQ(scene.ReasonOf(api::kFailed), "BadInput");
}

TEST(InvalidSpecTest, FailedGroupIsCountedOnceAndWaitsForFix) {
  Scene scene;
  scene.Training();
  Upgrade(scene);
  scene.TrainerPodEnded(0, 70);
  scene.SettleWithin(std::chrono::minutes(30));
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().trainer_replicas, 2);
  EXPECT_EQ(scene.status().attempts_counted, 1);
  EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-trainer-2"));
  EXPECT_EQ(scene.ConditionOf(api::kTrainersReady), ConditionStatus::kFalse);
  EXPECT_EQ(scene.status().phase, Phase::kRestarting);
  Mend(scene);
  scene.SettleWithin(seconds(60));
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_TRUE(scene.cluster().Has(kube::kJobs, "cora-trainer-2"));
}

TEST(InvalidSpecTest, FailureIsReportedBeforeInvalidSpec) {
  Scene scene;
  scene.Training();
  Upgrade(scene);
  scene.Settle();
  scene.TrainerPodEnded(0, 70);
  scene.Settle();
  scene.cluster().Pass(kCollect);
  const Plan plan = scene.Act();
  EXPECT_EQ(plan.status.attempts_counted, 1);
  EXPECT_EQ(plan.status.last_error->role, "trainer");
  EXPECT_EQ(plan.status.last_error->exit_code, 70);
  EXPECT_THAT(Described(plan.events), Contains("Warning " + plan.status.last_error->reason));
  scene.Settle();
  EXPECT_EQ(scene.status().last_error->reason, kInvalidSpec);
}

TEST(InvalidSpecTest, DeadlineApplies) {
  Scene scene = Scene::With({{"runPolicy", {{"activeDeadlineSeconds", 100}}}});
  scene.Training();
  Upgrade(scene);
  scene.SettleAfter(seconds(101));
  EXPECT_EQ(scene.ReasonOf(api::kFailed), kDeadlineExceeded);
  EXPECT_THAT(scene.Pods("cora-server-0"), IsEmpty());
}

TEST(InvalidSpecTest, JobCanBeSuspended) {
  Scene scene;
  scene.Training();
  Upgrade(scene);
  scene.cluster().Edit([](api::DistTraining* training) { training->raw_spec["runPolicy"]["suspend"] = true; });
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_TRUE(scene.cluster().Now().pods.empty());
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(InvalidSpecTest, CertificatesAreRenewed) {
  Scene scene = Scene::With({{"tls", {{"mode", "Managed"}}}});
  scene.Training();
  Upgrade(scene);
  scene.Settle();
  EXPECT_TRUE(scene.NextPlan().requeue_after.has_value());
  scene.cluster().Pass(std::chrono::hours(24 * 20));
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("make leaf server", "make leaf trainer"));
  scene.Settle();
  EXPECT_THAT(Described(scene.NextPlan().actions), IsEmpty());
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  scene.cluster().DeleteSecrets();
  EXPECT_THAT(Described(scene.NextPlan().actions), IsEmpty()) << "what it runs with, and nothing new";
}

TEST(InvalidSpecTest, InvalidDeadlineIsIgnored) {
  for (const kube::Json& seconds_text : {kube::Json(-1), kube::Json("1h"), kube::Json(9e18)}) {
    Scene scene;
    scene.Training();
    scene.Edit({{"runPolicy", {{"activeDeadlineSeconds", seconds_text}, {"ttlSecondsAfterFinished", seconds_text}}}});
    ASSERT_FALSE(scene.cluster().training().spec.has_value());
    scene.SettleAfter(seconds(1));
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
    scene.TrainersDone();
    scene.Settle();
    EXPECT_EQ(scene.status().phase, Phase::kSucceeded);
    EXPECT_THAT(Described(scene.NextPlan().actions), Not(Contains("delete self")));
  }
}

}  // namespace
}  // namespace espalier::ctl::plan
