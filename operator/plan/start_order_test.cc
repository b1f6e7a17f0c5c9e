// Tests the start of a job up to running trainers: what is created when, and what is written before it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/plan/testing/a_training.h"
#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Phase;
using testing::ATraining;
using ::testing::Contains;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PartitionEnding;
using testing::Scene;

TEST(StartOrderTest, TemplatesAreDryRunFirst) {
  Scene scene;
  const Plan plan = scene.Act();
  EXPECT_THAT(Described(plan.actions), ElementsAre("dry run"));
  EXPECT_EQ(plan.status.observed_generation, 0);
  ASSERT_TRUE(plan.requeue_after.has_value());
  EXPECT_EQ(plan.requeue_after->count(), 0);

  const auto& templates = std::get<DryRunTemplates>(plan.actions[0]).children;
  ASSERT_EQ(templates.size(), 3u);
  EXPECT_EQ(kube::StringAt(templates[0].object, {"metadata", "name"}), "cora-partition-1");
  EXPECT_EQ(kube::StringAt(templates[1].object, {"metadata", "name"}), "cora-server-0");
  EXPECT_EQ(kube::StringAt(templates[2].object, {"metadata", "name"}), "cora-trainer-1");
}

TEST(StartOrderTest, SharedObjectsPrecedePartitionJob) {
  Scene scene;
  scene.Act();
  const Plan plan = scene.Act();
  EXPECT_THAT(Described(plan.actions),
              ElementsAre("apply ConfigMap cora-config", "apply ServiceAccount cora-job", "apply Service cora",
                          "apply NetworkPolicy cora-job", "apply Job cora-partition-1"));
  EXPECT_EQ(plan.status.partition_attempt, 1);
  EXPECT_EQ(plan.status.phase, Phase::kPartitioning);
  EXPECT_EQ(plan.status.observed_generation, 1);
  EXPECT_EQ(plan.status.images.at("trainer"), "espalier/trainer:1");
  EXPECT_EQ(plan.status.images.at("server"), "espalier/core:1");
  EXPECT_EQ(plan.status.started_at, scene.cluster().now());
  EXPECT_EQ(scene.ConditionOf(api::kAccepted), ConditionStatus::kTrue);
  EXPECT_THAT(Described(plan.events), ElementsAre("Normal Accepted", "Normal Started"));
}

TEST(StartOrderTest, TrainersThatMayUseCudaGetTheImageWithCuda) {
  struct Case {
    kube::Json trainers;
    std::string image;
  };
  const Case cases[] = {
      {{{"device", "CPU"}, {"gpus", 1}}, "espalier/trainer:1"},
      {{{"device", "Auto"}}, "espalier/trainer:1"},
      {{{"device", "Auto"}, {"gpus", 1}}, "espalier/trainer-cuda:1"},
      {{{"device", "CUDA"}}, "espalier/trainer-cuda:1"},
      {{{"device", "CUDA"}, {"gpus", 1}, {"image", "ours:1"}}, "ours:1"},
  };
  for (const Case& one : cases) {
    Scene scene = Scene::With({{"trainers", one.trainers}});
    scene.Training();
    EXPECT_EQ(scene.status().images.at("trainer"), one.image) << one.trainers;
    EXPECT_EQ(scene.status().images.at("server"), "espalier/core:1") << one.trainers;
  }
}

TEST(StartOrderTest, WithoutAnImageWithCudaAllTrainersGetTheSame) {
  const api::DistTraining training = ATraining({{"trainers", {{"device", "CUDA"}, {"gpus", 1}}}});
  const Plan plan = MakePlan(training, {}, {.core_image = "core:1", .trainer_image = "trainer:1"}, kube::WallTime());
  ASSERT_THAT(Described(plan.actions), ElementsAre("dry run"));
  const kube::Json& trainers = std::get<DryRunTemplates>(plan.actions[0]).children.back().object;
  EXPECT_EQ(kube::StringAt(trainers, {"metadata", "name"}), "cora-trainer-1");
  EXPECT_EQ(trainers["spec"]["template"]["spec"]["containers"][0]["image"], "trainer:1");
}

TEST(StartOrderTest, CertificatesComeBeforeAnyPod) {
  Scene scene = Scene::With({{"tls", {{"mode", "Managed"}}}, {"samplers", {{"replicas", 1}}}});
  scene.Act();
  EXPECT_THAT(Described(scene.NextPlan().actions),
              ElementsAre("apply ConfigMap cora-config", "apply ServiceAccount cora-job", "apply Service cora",
                          "apply NetworkPolicy cora-job", "make authority", "make leaf server", "make leaf sampler",
                          "make leaf trainer", "apply Job cora-partition-1"));
}

TEST(StartOrderTest, NoActionsWhilePartitionerRuns) {
  Scene scene;
  scene.Partitioning();
  const Plan plan = scene.NextPlan();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.events, IsEmpty());
  EXPECT_FALSE(plan.requeue_after.has_value());
  EXPECT_EQ(api::ToJson(plan.status), api::ToJson(scene.status()));
}

TEST(StartOrderTest, PartitionsAreInStatusBeforeServers) {
  Scene scene;
  scene.Partitioning();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(plan.status.partition,
            (api::PartitionStatus{
                .hash = "0123abcd", .uri = "s3://results/cora/partitions/0123abcd", .cut = 0.25, .bytes = 4096}));
  EXPECT_THAT(Described(plan.actions),
              ElementsAre("apply StatefulSet cora-server-0", "apply PodDisruptionBudget cora-server"));
  EXPECT_THAT(Described(plan.events), Contains("Normal Partitioned"));
  EXPECT_EQ(plan.status.incarnation, 0);
}

TEST(StartOrderTest, TrainersWaitUntilAllServersAndSamplersAreReady) {
  Scene scene = Scene::With({{"samplers", {{"replicas", 1}}}});
  scene.PartitionJobDone();
  for (const char* name : {"cora-server-0", "cora-sampler"}) {
    ASSERT_NE(scene.cluster().FindSet(name), nullptr) << name;
    const std::string pod = std::string(name) + "-0";
    scene.cluster().SetReady(pod, false);
    EXPECT_EQ(scene.NextPlan().status.incarnation, 0) << name;
    EXPECT_EQ(scene.NextPlan().status.phase, Phase::kStarting);
    scene.cluster().SetReady(pod, true);
  }
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(plan.status.incarnation, 1);
  EXPECT_EQ(plan.status.attempts_total, 1);
  EXPECT_EQ(plan.status.trainer_replicas, 2);
  EXPECT_THAT(Described(plan.actions), ElementsAre("apply ConfigMap cora-config-1", "apply Job cora-trainer-1"));
}

TEST(StartOrderTest, TrainersBeginWithTheServersOfAllReplicas) {
  Scene scene = Scene::With({{"servers", {{"replicasPerPartition", 2}}}});
  scene.PartitionJobDone();
  for (const char* name : {"cora-server-0", "cora-server-1"}) {
    kube::StatefulSet* set = scene.cluster().FindSet(name);
    ASSERT_NE(set, nullptr) << name;
    EXPECT_EQ(set->wanted, 2) << name;
    const std::string pod = std::string(name) + "-1";
    scene.cluster().SetReady(pod, false);
    EXPECT_EQ(scene.NextPlan().status.incarnation, 0) << name;
    scene.cluster().SetReady(pod, true);
  }
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().replicas.at("server"), (api::ReplicaStatus{.wanted = 4, .ready = 4, .failed = 0}));
}

TEST(StartOrderTest, TheJobTrainsWhenAllItsTrainersAreReady) {
  Scene scene;
  scene.Training();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.ConditionOf(api::kTrainersReady), ConditionStatus::kTrue);
  EXPECT_EQ(scene.status().replicas.at("trainer"), (api::ReplicaStatus{.wanted = 2, .ready = 2, .failed = 0}));
  EXPECT_EQ(scene.status().replicas.at("server"), (api::ReplicaStatus{.wanted = 2, .ready = 2, .failed = 0}));
  EXPECT_THAT(scene.status().selector, HasSubstr("app.kubernetes.io/component=trainer"));
  EXPECT_THAT(scene.status().child_refs, Contains(api::ChildRef{"Job", "cora-trainer-1"}));
  EXPECT_THAT(scene.NextPlan().actions, IsEmpty());
}

TEST(StartOrderTest, TheJobSucceedsWithItsTrainersAndServersGo) {
  Scene scene;
  scene.Training();
  scene.TrainersDone();
  scene.cluster().RunAll();
  const Plan plan = scene.NextPlan();
  EXPECT_EQ(plan.status.phase, Phase::kSucceeded);
  EXPECT_EQ(plan.status.finished_at, scene.cluster().now());
  EXPECT_THAT(Described(plan.actions), ElementsAre("delete StatefulSet cora-server-0"));
  EXPECT_THAT(Described(plan.events), ElementsAre("Normal Succeeded"));
}

TEST(StartOrderTest, DeletedChildIsRecreated) {
  Scene scene;
  scene.Training();
  const struct {
    const kube::Resource& resource;
    const char* name;
  } rows[] = {{kube::kServices, "cora"},
              {kube::kConfigMaps, "cora-config"},
              {kube::kServiceAccounts, "cora-job"},
              {kube::kNetworkPolicies, "cora-job"},
              {kube::kPodDisruptionBudgets, "cora-server"},
              {kube::kStatefulSets, "cora-server-0"}};
  for (const auto& row : rows) {
    scene.cluster().DeleteChild(row.resource, row.name, kube::Propagation::kBackground);
    EXPECT_THAT(Described(scene.NextPlan().actions),
                ElementsAre("apply " + std::string(row.resource.kind) + " " + row.name));
    scene.Settle();
    EXPECT_TRUE(scene.cluster().Has(row.resource, row.name));
  }
}

TEST(StartOrderTest, ForeignChangeOfReplicasIsReverted) {
  Scene scene;
  scene.Training();
  scene.cluster().FindSet("cora-server-0")->wanted = 5;
  const Plan plan = scene.NextPlan();
  ASSERT_THAT(Described(plan.actions), ElementsAre("apply StatefulSet cora-server-0"));
  const auto& apply = std::get<ApplyChild>(plan.actions[0]);
  EXPECT_EQ(apply.uid, scene.cluster().FindSet("cora-server-0")->meta.uid);
  EXPECT_EQ(kube::StringAt(apply.object, {"metadata", "uid"}), apply.uid);
}

TEST(StartOrderTest, UpgradeKeepsRunningChildren) {
  Scene scene;
  scene.Training();
  const Defaults upgraded{.core_image = "espalier/core:2", .trainer_image = "espalier/trainer:2"};
  const Plan plan = MakePlan(scene.cluster().training(), scene.cluster().Now(), upgraded, scene.cluster().now());
  EXPECT_THAT(Described(plan.actions), IsEmpty());
  EXPECT_EQ(plan.status.images.at("server"), "espalier/core:1");
}

TEST(StartOrderTest, JobOfOtherControllerIsIgnored) {
  Scene scene = Scene::With({{"runPolicy", {{"managedBy", "kueue.x-k8s.io/multikueue"}}}});
  const Plan plan = scene.NextPlan();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.status, scene.status());
  const Lookups lookups = CollectLookups(scene.cluster().training(), scene.cluster().Now(), scene.cluster().now());
  EXPECT_FALSE(lookups.certificates || lookups.referenced_secrets);
}

// A foreground deletion waits for all pods of the job.
TEST(StartOrderTest, DeletedJobForceDeletesPodsOfDeadNodes) {
  Scene scene;
  scene.Training();
  api::DistTraining training = scene.cluster().training();
  training.meta.deletion_requested_at = scene.cluster().now();
  const std::string name = scene.Pods("cora-server-0").front();
  kube::Pod* const pod = scene.cluster().FindPod(name);
  pod->meta.deletion_requested_at = scene.cluster().now();
  pod->meta.deletion_grace = std::chrono::seconds(30);
  const auto plan_after = [&](std::chrono::seconds after) {
    return MakePlan(training, scene.cluster().Now(), {}, scene.cluster().now() + after);
  };
  EXPECT_THAT(plan_after(std::chrono::seconds(59)).actions, IsEmpty());
  EXPECT_LE(*plan_after(std::chrono::seconds(59)).requeue_after, std::chrono::nanoseconds(std::chrono::seconds(1)));
  EXPECT_THAT(Described(plan_after(std::chrono::seconds(60)).actions), ElementsAre("delete Pod " + name + " by force"));
}

TEST(StartOrderTest, DeletedJobIsIgnored) {
  Scene scene;
  scene.Training();
  scene.cluster().DeleteChild(kube::kServices, "cora", kube::Propagation::kBackground);
  api::DistTraining training = scene.cluster().training();
  training.meta.deletion_requested_at = scene.cluster().now();
  const Plan plan = MakePlan(training, scene.cluster().Now(), {}, scene.cluster().now());
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.events, IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::plan
