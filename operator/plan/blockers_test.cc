// Tests that blockers are reported, and cleared when they are fixed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/plan/testing/scene.h"
#include "operator/resources/labels.h"

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
using testing::Scene;

Lookups Asked(Scene& scene) {
  return CollectLookups(scene.cluster().training(), scene.cluster().Now(), scene.cluster().now());
}

TEST(BlockersTest, InvalidSpecBlocksUntilFixed) {
  Scene scene = Scene::With({{"training", {{"epochs", "many"}}}});
  ASSERT_FALSE(scene.cluster().training().spec.has_value());
  scene.Settle();
  EXPECT_EQ(scene.ConditionOf(api::kAccepted), ConditionStatus::kFalse);
  EXPECT_EQ(scene.ReasonOf(api::kAccepted), kInvalidSpec);
  EXPECT_THAT(scene.MessageOf(api::kAccepted), HasSubstr("epochs"));
  EXPECT_EQ(scene.status().observed_generation, 1);
  EXPECT_TRUE(scene.cluster().Now().others.empty());
  scene.Edit({{"training", {{"epochs", 5}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
}

TEST(BlockersTest, RefusedTemplateBlocksUntilFixed) {
  Scene scene;
  scene.cluster().set_template_error("trainers.template: unknown field");
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kAccepted), kInvalidTemplate);
  EXPECT_TRUE(scene.cluster().Now().others.empty());
  EXPECT_TRUE(scene.NextPlan().requeue_after.has_value());
  scene.cluster().set_template_error({});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
}

TEST(BlockersTest, MissingSecretBlocksUntilCreated) {
  Scene scene;
  scene.cluster().set_missing_secrets({{.name = "cora-s3"}});
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kSecretMissing);
  EXPECT_EQ(scene.status().last_error->reason, kSecretMissing);
  EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-partition-1"));
  EXPECT_LE(*scene.NextPlan().requeue_after, seconds(10));
  EXPECT_TRUE(Asked(scene).referenced_secrets);
  scene.cluster().set_missing_secrets({});
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kPartitioning);
  EXPECT_FALSE(scene.status().last_error.has_value());
}

// A new job is not started. A running job keeps running, and nothing new is created.
TEST(BlockersTest, PolicyViolationBlocksNewPods) {
  for (const bool has_begun : {false, true}) {
    Scene scene;
    if (has_begun) {
      scene.Training();
      scene.Edit({{"trainers", {{"replicas", 3}}}});
    }
    Observed seen = scene.cluster().Now();
    seen.dry_run = Observed::DryRun{.generation = scene.cluster().training().meta.generation,
                                    .refusal = Observed::DryRun::Refusal::kPodRules,
                                    .error = "spec.trainers.image: the image 'x' is not allowed here"};
    const Plan plan = MakePlan(scene.cluster().training(), seen, {}, scene.cluster().now());
    const api::Condition* const accepted = api::FindCondition(plan.status, api::kAccepted);
    ASSERT_NE(accepted, nullptr);
    EXPECT_EQ(accepted->status, api::ConditionStatus::kFalse);
    EXPECT_EQ(accepted->reason, kNotAllowed);
    EXPECT_THAT(accepted->message, HasSubstr("spec.trainers.image"));
    EXPECT_THAT(plan.actions, IsEmpty());
    EXPECT_LE(*plan.requeue_after, seconds(10));
    EXPECT_EQ(plan.status.phase, has_begun ? api::Phase::kTraining : api::Phase::kPending);
  }
}

TEST(BlockersTest, MissingSecretKeyBlocksUntilAdded) {
  Scene scene;
  scene.cluster().set_missing_secrets({{.name = "cora-s3", .keys = {"AWS_SECRET_ACCESS_KEY"}}});
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kSecretKeyMissing);
  EXPECT_EQ(scene.status().last_error->message, "the Secret cora-s3 lacks AWS_SECRET_ACCESS_KEY");
  EXPECT_FALSE(scene.cluster().Has(kube::kJobs, "cora-partition-1"));
  scene.cluster().set_missing_secrets({});
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kPartitioning);
}

TEST(BlockersTest, MountFailureIsLookedUpAndShown) {
  Scene scene = Scene::With(
      {{"partitioner",
        {{"template",
          {{"spec", {{"volumes", kube::Json::array({{{"name", "extra"}, {"configMap", {{"name", "x"}}}}})}}}}}}}});
  ASSERT_TRUE(scene.cluster().training().spec.has_value()) << scene.cluster().training().violations;
  scene.cluster().set_mount_failure("MountVolume.SetUp failed for volume \"extra\" : configmap \"x\" not found");
  scene.Settle();
  EXPECT_THAT(Asked(scene).mount_failures_of, IsEmpty());
  EXPECT_LE(*scene.NextPlan().requeue_after, seconds(3));
  scene.cluster().Pass(seconds(3));
  const std::string pod = scene.Pods("cora-partition-1").front();
  EXPECT_THAT(Asked(scene).mount_failures_of, ElementsAre(scene.cluster().FindPod(pod)->meta.uid));
  scene.Act();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kFailedMount);
  EXPECT_EQ(scene.status().last_error->pod, pod);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  scene.cluster().set_mount_failure({});
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kPartitioning);
  EXPECT_FALSE(scene.status().last_error.has_value());
  EXPECT_THAT(Asked(scene).mount_failures_of, IsEmpty());
}

// Hundreds of jobs may wait for the same quota, so events are read less often over time.
TEST(BlockersTest, LookupsBecomeRarerWithTime) {
  Scene scene;
  scene.cluster().set_creation_error("exceeded quota: pods");
  scene.Settle();
  scene.cluster().Pass(seconds(10));
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::nanoseconds(kMinEventReadInterval));
  scene.cluster().Pass(seconds(200));
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::nanoseconds(seconds(20)));
  scene.cluster().Pass(std::chrono::hours(5));
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::nanoseconds(kMaxEventReadInterval));
}

TEST(BlockersTest, ImagePullNeedsNoLookup) {
  Scene scene;
  scene.cluster().set_mount_failure("nobody has said so");
  scene.Settle();
  scene.cluster().Pass(seconds(60));
  EXPECT_THAT(Asked(scene).mount_failures_of, IsEmpty()) << "all of its volumes are the operator's";
}

TEST(BlockersTest, ForeignObjectIsNeverChanged) {
  for (const bool with_label : {true, false}) {
    for (const kube::Resource* resource : {&kube::kServices, &kube::kJobs}) {
      Scene scene;
      const std::string name = *resource == kube::kJobs ? "cora-partition-1" : "cora";
      scene.cluster().Occupy(*resource, name, with_label);
      scene.Settle();
      EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kNameTaken);
      EXPECT_THAT(scene.MessageOf(api::kPartitioned), HasSubstr(name));
      EXPECT_TRUE(scene.NextPlan().requeue_after.has_value());
      scene.cluster().Vacate(name);
      scene.Settle();
      EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kPartitioning);
    }
  }
}

TEST(BlockersTest, PodsMissingForThreeSecondsAreLookedUp) {
  Scene scene;
  scene.cluster().set_creation_error("pods \"x\" is forbidden: exceeded quota: compute");
  scene.Settle();
  EXPECT_THAT(Asked(scene).creation_failures_of, IsEmpty());
  EXPECT_LE(*scene.NextPlan().requeue_after, seconds(3));
  scene.cluster().Pass(seconds(3));
  const std::string uid = scene.cluster().FindJob("cora-partition-1")->meta.uid;
  EXPECT_THAT(Asked(scene).creation_failures_of, ElementsAre(uid));
  const Plan plan = scene.Act();
  EXPECT_THAT(Described(plan.events), Contains("Warning FailedCreate"));
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kFailedCreate);
  EXPECT_THAT(scene.status().last_error->message, HasSubstr("exceeded quota"));
  scene.cluster().set_creation_error({});
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kPartitioning);
  EXPECT_FALSE(scene.status().last_error.has_value());
  EXPECT_THAT(Asked(scene).creation_failures_of, IsEmpty());
}

// Otherwise events up to an hour old would be found, of a quota that was full at that time.
TEST(BlockersTest, RecentlyDeletedPodIsNotLookedUp) {
  Scene scene;
  scene.Training();
  scene.cluster().Pass(std::chrono::minutes(40));
  Observed seen = scene.cluster().Now();
  std::erase_if(seen.pods, [](const auto& pod) { return pod->meta.controller->name == "cora-server-0"; });
  const auto asked = [&](kube::WallTime now) {
    return CollectLookups(scene.cluster().training(), seen, now).creation_failures_of;
  };
  EXPECT_THAT(asked(scene.cluster().now()), IsEmpty());
  const Plan plan = MakePlan(scene.cluster().training(), seen, {}, scene.cluster().now());
  EXPECT_LE(*plan.requeue_after, std::chrono::nanoseconds(seconds(3)));
}

TEST(BlockersTest, WaitingPodIsBlockerNotFailure) {
  const struct {
    const char* waiting;
    const char* reason;
  } rows[] = {{"ErrImagePull", kImagePull},
              {"ImagePullBackOff", kImagePull},
              {"InvalidImageName", kImagePull},
              {"CreateContainerConfigError", kContainerConfig},
              {"CreateContainerError", kContainerCreation}};
  for (const auto& row : rows) {
    Scene scene;
    scene.Partitioning();
    kube::Pod* pod = scene.cluster().FindPod(scene.Pods("cora-partition-1").front());
    scene.cluster().SetReady(pod->meta.key.name, false);
    pod->containers[0].waiting_reason = row.waiting;
    pod->containers[0].waiting_message = "because";
    scene.Settle();
    EXPECT_EQ(scene.ReasonOf(api::kPartitioned), row.reason);
    EXPECT_EQ(scene.status().last_error->pod, pod->meta.key.name);
    EXPECT_EQ(scene.status().attempts_counted, 0);
    EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
    pod->containers[0].waiting_reason.clear();
    scene.Settle();
    EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kPartitioning);
  }
}

TEST(BlockersTest, APodWithoutANodeIsUnschedulable) {
  Scene scene;
  scene.PartitionJobDone();
  kube::Pod* pod = scene.cluster().FindPod("cora-server-0-0");
  pod->unscheduled_message = "0/3 nodes are available: 3 Insufficient memory.";
  scene.cluster().SetReady("cora-server-0-0", false);
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(api::FindCondition(plan.status, api::kServersReady)->reason, kUnschedulable);
  EXPECT_EQ(plan.status.last_error->role, "server");
  EXPECT_EQ(plan.status.phase, Phase::kStarting);
}

TEST(BlockersTest, CrashLoopShowsLastFailure) {
  Scene scene;
  scene.Training();
  kube::Pod* pod = scene.cluster().FindPod("cora-server-0-0");
  pod->containers[0].waiting_reason = kCrashLoop;
  pod->containers[0].last_ended = kube::ContainerEnd{.exit_code = 77};
  scene.cluster().SetReady("cora-server-0-0", false);
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(api::FindCondition(plan.status, api::kServersReady)->reason, "NotPermitted");
  EXPECT_EQ(plan.status.last_error->exit_code, 77);
  EXPECT_FALSE(api::IsTerminal(plan.status));
}

TEST(BlockersTest, RefusedChildIsShownAndRetried) {
  Scene scene;
  scene.Act();
  Observed seen = scene.cluster().Now();
  seen.refusal = Observed::Refusal{"Job cora-partition-1", "Forbidden", "exceeded quota: jobs"};
  const Plan plan = MakePlan(scene.cluster().training(), seen, {}, scene.cluster().now());
  EXPECT_EQ(api::FindCondition(plan.status, api::kPartitioned)->reason, kRefused);
  EXPECT_THAT(Described(plan.actions), Contains("apply Job cora-partition-1"));
}

TEST(CertificatesTest, LeavesAreRenewedAtTwoThirdsOfTheirLife) {
  Scene scene = Scene::With({{"tls", {{"mode", "Managed"}}}});
  scene.Training();
  EXPECT_THAT(scene.NextPlan().actions, IsEmpty());
  scene.cluster().Pass(std::chrono::hours(24 * 20) - seconds(1));
  EXPECT_THAT(scene.NextPlan().actions, IsEmpty());
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::nanoseconds(seconds(1)));
  scene.cluster().Pass(seconds(1));
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("make leaf server", "make leaf trainer"));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(CertificatesTest, AnnotationAndLostAuthorityRenewAll) {
  Scene scene = Scene::With({{"tls", {{"mode", "Managed"}}}});
  scene.Training();
  scene.cluster().Edit([](api::DistTraining* training) {
    training->meta.annotations[resources::kRenewAnnotation] = "2026-02-01";
    --training->meta.generation;  // annotations do not change it
  });
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("make leaf server", "make leaf trainer"));
  scene.Settle();
  EXPECT_THAT(scene.NextPlan().actions, IsEmpty());
  scene.cluster().DeleteSecrets();
  EXPECT_THAT(Described(scene.NextPlan().actions),
              ElementsAre("make authority", "make leaf server", "make leaf trainer"));
}

TEST(CertificatesTest, LeavesAreRenewedWhileAChangeOfTheDocumentIsRefused) {
  Scene scene = Scene::With({{"tls", {{"mode", "Managed"}}}});
  scene.Training();
  scene.cluster().set_template_error("spec.trainers.template.spec.foo: unknown field");
  scene.Edit({{"trainers", {{"replicas", 3}}}});
  scene.Settle();
  ASSERT_EQ(scene.ReasonOf(api::kAccepted), kInvalidTemplate);
  EXPECT_TRUE(Asked(scene).certificates);
  scene.cluster().Pass(std::chrono::hours(24 * 20));
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("make leaf server", "make leaf trainer"));
}

// With cleanPodPolicy: None the servers keep serving.
TEST(CertificatesTest, LeavesAreRenewedAfterTheEndWhileServersAreKept) {
  for (const std::string policy : {"None", "Running"}) {
    Scene scene = Scene::With({{"tls", {{"mode", "Managed"}}}, {"runPolicy", {{"cleanPodPolicy", policy}}}});
    scene.Training();
    scene.TrainersDone();
    scene.Settle();
    ASSERT_EQ(scene.status().phase, api::Phase::kSucceeded);
    const bool are_kept = policy == "None";
    EXPECT_EQ(Asked(scene).certificates, are_kept);
    scene.cluster().Pass(std::chrono::hours(24 * 20));
    EXPECT_EQ(Described(scene.NextPlan().actions).size(), are_kept ? 2u : 0u);
    scene.Settle();
    EXPECT_THAT(scene.NextPlan().actions, IsEmpty());
    EXPECT_EQ(scene.NextPlan().requeue_after.has_value(), are_kept);
  }
}

TEST(CertificatesTest, GivenOrDisabledCertificatesAreNotCreated) {
  for (const kube::Json& tls :
       {kube::Json{{"mode", "Disabled"}}, kube::Json{{"mode", "SecretRef"}, {"secretName", "mine"}}}) {
    Scene scene = Scene::With({{"tls", tls}});
    ASSERT_TRUE(scene.cluster().training().spec.has_value()) << scene.cluster().training().violations;
    scene.Training();
    EXPECT_FALSE(Asked(scene).certificates);
  }
}

TEST(BlockersTest, SuspendedChildIsNamedWithWriterAndTime) {
  Scene scene;
  scene.Training();
  const std::string since = kube::FormatTime(std::chrono::floor<std::chrono::seconds>(scene.cluster().now()));
  scene.cluster().SuspendJob("cora-trainer-1", true, "kueue");
  scene.SettleAfter(std::chrono::seconds(60));
  EXPECT_EQ(scene.ReasonOf(api::kTrainersReady), kJobSuspended);
  EXPECT_EQ(scene.MessageOf(api::kTrainersReady),
            "spec.suspend of Job cora-trainer-1 has been true since " + since + ", set by field manager kueue");
  EXPECT_EQ(scene.status().last_error->reason, kJobSuspended);
  scene.cluster().SuspendJob("cora-trainer-1", false, "kueue");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, api::Phase::kTraining);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(scene.status().last_error, std::nullopt);
}

TEST(BlockersTest, SuspensionByWebhookIsNamed) {
  Scene scene;
  scene.Partitioning();
  scene.cluster().SuspendJob("cora-partition-1", true, kFieldManager);
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kPartitioned), kJobSuspended);
  EXPECT_THAT(scene.MessageOf(api::kPartitioned), HasSubstr("an admission webhook"));
}

}  // namespace
}  // namespace espalier::ctl::plan
