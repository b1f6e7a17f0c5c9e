// Tests the PodGroups of a job: which roles have one, when it is made, changed and deleted, and what is said while its
// pods wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/plan/testing/scene.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Phase;
using kube::Json;
using ::testing::Contains;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PartitionEnding;
using testing::Scene;

Scene WithPodGroups(const Json& spec = Json::object()) {
  Scene scene = Scene::With(spec);
  scene.cluster().set_pod_groups(/*are_used=*/true, /*are_served=*/true);
  return scene;
}

bool HasAnyPodGroup(Scene& scene) {
  for (const char* const name : {"cora-partition-1", "cora-server", "cora-sampler", "cora-trainer-1"}) {
    if (scene.cluster().FindPodGroup(name) != nullptr) return true;
  }
  return false;
}

// Returns -1 if there is no such PodGroup.
int64_t MinCountOf(Scene& scene, const std::string& name) {
  const kube::PodGroup* const group = scene.cluster().FindPodGroup(name);
  return group == nullptr ? -1 : group->min_count;
}

TEST(GangsTest, MinCountIsTheNumberOfPodsOfTrainers) {
  Scene scene = WithPodGroups({{"trainers", {{"replicas", 6}, {"containersPerPod", 2}}}});
  scene.Training();
  EXPECT_EQ(MinCountOf(scene, "cora-trainer-1"), 3);
}

TEST(GangsTest, PodGroupsOfRolesAreCreatedBeforePods) {
  Scene scene = WithPodGroups({{"graph", {{"partitions", {{"algorithm", "Random"}}}}},
                               {"partitioner", {{"replicas", 2}}},
                               {"samplers", {{"replicas", 3}}}});
  scene.Act();  // dry run
  EXPECT_THAT(
      Described(scene.Act().actions),
      ElementsAre("apply ConfigMap cora-config", "apply ServiceAccount cora-job", "apply Service cora",
                  "apply NetworkPolicy cora-job", "apply PodGroup cora-partition-1", "apply Job cora-partition-1"));
  EXPECT_EQ(MinCountOf(scene, "cora-partition-1"), 2);
  scene.Settle();
  for (const std::string& pod : scene.Pods("cora-partition-1"))
    scene.cluster().EndPod(pod, PartitionEnding("0123abcd"));
  scene.cluster().RunAll();
  EXPECT_THAT(Described(scene.Act().actions),
              ElementsAre("delete PodGroup cora-partition-1", "apply PodGroup cora-server",
                          "apply StatefulSet cora-server-0", "apply PodGroup cora-sampler",
                          "apply StatefulSet cora-sampler", "apply PodDisruptionBudget cora-server"));
  EXPECT_EQ(MinCountOf(scene, "cora-server"), 2);
  EXPECT_EQ(MinCountOf(scene, "cora-sampler"), 3);
  EXPECT_EQ(scene.cluster().FindSet("cora-server-0")->pod_group, "cora-server");
  EXPECT_THAT(Described(scene.Act().actions), ElementsAre("apply ConfigMap cora-config-1",
                                                          "apply PodGroup cora-trainer-1", "apply Job cora-trainer-1"));
  EXPECT_EQ(MinCountOf(scene, "cora-trainer-1"), 2);
  EXPECT_EQ(scene.cluster().FindJob("cora-trainer-1")->pod_group, "cora-trainer-1");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(GangsTest, ServersOfAllReplicasAreOneGang) {
  Scene scene = WithPodGroups({{"servers", {{"replicasPerPartition", 2}}}});
  scene.Training();
  EXPECT_EQ(MinCountOf(scene, "cora-server"), 4);
  EXPECT_EQ(scene.cluster().FindSet("cora-server-1")->pod_group, "cora-server");
}

TEST(GangsTest, ASinglePodIsNoGang) {
  Scene scene = WithPodGroups({{"trainers", {{"replicas", 1}}}, {"graph", {{"partitions", {{"count", 1}}}}}});
  scene.Training();
  EXPECT_FALSE(HasAnyPodGroup(scene));
  EXPECT_EQ(scene.cluster().FindJob("cora-trainer-1")->pod_group, "");
}

TEST(GangsTest, NoPodGroupsWithoutApiOrIfDisabled) {
  for (const bool are_used : {false, true}) {
    Scene scene;
    scene.cluster().set_pod_groups(are_used, /*are_served=*/false);
    scene.Training();
    EXPECT_FALSE(HasAnyPodGroup(scene)) << are_used;
    EXPECT_EQ(scene.cluster().FindJob("cora-trainer-1")->pod_group, "") << are_used;
  }
  Scene never = WithPodGroups({{"scheduling", {{"gang", "Never"}}}});
  never.Training();
  EXPECT_FALSE(HasAnyPodGroup(never));
}

// The user's own group, which the job does not manage.
TEST(GangsTest, ATemplateMayNameAnotherGroup) {
  const Json own = {{"spec", {{"schedulingGroup", {{"podGroupName", "mine"}}}}}};
  Scene scene = WithPodGroups({{"trainers", {{"replicas", 2}, {"template", own}}}});
  scene.Training();
  EXPECT_EQ(scene.cluster().FindPodGroup("cora-trainer-1"), nullptr);
  EXPECT_EQ(scene.cluster().FindJob("cora-trainer-1")->pod_group, "mine");
  EXPECT_NE(scene.cluster().FindPodGroup("cora-server"), nullptr);
  EXPECT_THAT(Described(scene.NextPlan().actions), IsEmpty());
}

TEST(GangsTest, AnApiThatAppearsOrDisappearsChangesNothingForPodsThatExist) {
  Scene scene;
  scene.cluster().set_pod_groups(/*are_used=*/true, /*are_served=*/false);
  scene.Training();
  scene.cluster().set_pod_groups(true, true);
  EXPECT_THAT(Described(scene.NextPlan().actions), IsEmpty());

  scene.TrainerPodEnded(0, 75);
  scene.SettleWithin(testing::kSoon);  // a new incarnation is a new group of pods
  EXPECT_EQ(scene.cluster().FindJob("cora-trainer-2")->pod_group, "cora-trainer-2");
  EXPECT_EQ(scene.cluster().FindSet("cora-server-0")->pod_group, "");
  EXPECT_EQ(scene.cluster().FindPodGroup("cora-server"), nullptr);

  scene.cluster().set_pod_groups(true, false);
  EXPECT_THAT(Described(scene.NextPlan().actions), IsEmpty());
}

TEST(GangsTest, ARestartHasANewPodGroupAndTheOldOneIsDeleted) {
  Scene scene = WithPodGroups();
  scene.Training();
  scene.TrainerPodEnded(0, 75);
  scene.SettleWithin(testing::kSoon);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.cluster().FindPodGroup("cora-trainer-1"), nullptr);
  EXPECT_EQ(MinCountOf(scene, "cora-trainer-2"), 2);
}

TEST(GangsTest, MissingNodesAreReportedForWholeGang) {
  Scene scene = WithPodGroups();
  scene.PartitionJobDone();
  scene.Act();
  scene.Act();
  ASSERT_NE(scene.cluster().FindPodGroup("cora-trainer-1"), nullptr);
  for (const std::string& pod : scene.Pods("cora-trainer-1")) scene.cluster().Unschedule(pod, "gang");
  scene.cluster().SetScheduled("cora-trainer-1", false, "0/8 nodes are available: 8 Insufficient nvidia.com/gpu.");
  scene.Settle();
  EXPECT_EQ(scene.ConditionOf(api::kTrainersReady), ConditionStatus::kFalse);
  EXPECT_EQ(scene.ReasonOf(api::kTrainersReady), kUnschedulable);
  EXPECT_EQ(scene.MessageOf(api::kTrainersReady),
            "the 2 pods of spec.trainers start together or not at all, and wait for free nodes: PodGroup "
            "cora-trainer-1: 0/8 nodes are available: 8 Insufficient nvidia.com/gpu.");
}

// A server that is replaced must not wait for a node for another one.
TEST(GangsTest, ServersThatHaveBeenScheduledTogetherAreReplacedOneByOne) {
  Scene scene = WithPodGroups();
  scene.Training();
  scene.cluster().SetScheduled("cora-server", true, "");
  scene.cluster().SetScheduled("cora-trainer-1", true, "");
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("apply PodGroup cora-server"));
  scene.Settle();
  EXPECT_EQ(MinCountOf(scene, "cora-server"), 1);
  EXPECT_EQ(MinCountOf(scene, "cora-trainer-1"), 2);
}

TEST(GangsTest, AJobThatResumesStartsAllOrNothingAgain) {
  Scene scene = WithPodGroups();
  scene.Training();
  scene.cluster().SetScheduled("cora-server", true, "");
  scene.Settle();
  scene.Suspend();
  scene.SettleWithin(testing::kSoon);
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_FALSE(HasAnyPodGroup(scene));
  scene.Resume();
  scene.SettleWithin(testing::kSoon);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(MinCountOf(scene, "cora-server"), 2);
  EXPECT_EQ(MinCountOf(scene, "cora-trainer-2"), 2);
}

TEST(GangsTest, APodGroupThatIsGoneIsMadeAgain) {
  Scene scene = WithPodGroups();
  scene.Training();
  scene.cluster().DeleteChild(kube::kPodGroups, "cora-trainer-1", kube::Propagation::kBackground);
  scene.cluster().DeleteChild(kube::kPodGroups, "cora-server", kube::Propagation::kBackground);
  EXPECT_THAT(Described(scene.NextPlan().actions),
              ElementsAre("apply PodGroup cora-server", "apply PodGroup cora-trainer-1"));
}

TEST(GangsTest, UnlistablePodGroupsBlockNewPodsOnly) {
  Scene scene = WithPodGroups();
  scene.PartitionJobDone();
  scene.cluster().set_pod_groups_unknown("podgroups is forbidden");
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kTrainersReady), kPodGroupsUnavailable);
  EXPECT_EQ(scene.MessageOf(api::kTrainersReady),
            "PodGroups cannot be listed (podgroups is forbidden): set gangScheduling.enabled of the chart, which "
            "grants the permissions, or spec.scheduling.gang to Never");
  EXPECT_THAT(scene.Pods("cora-trainer-1"), IsEmpty());

  scene.cluster().set_pod_groups_unknown("");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  scene.cluster().set_pod_groups_unknown("podgroups is forbidden");
  EXPECT_THAT(Described(scene.NextPlan().actions), IsEmpty());
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

// Another owner's group could hold the pods for ever.
TEST(GangsTest, ANameThatIsTakenBlocksTheRole) {
  Scene scene = WithPodGroups();
  scene.cluster().Occupy(kube::kPodGroups, "cora-server", /*with_label=*/false);
  scene.Settle();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kServersReady), kNameTaken);
  EXPECT_EQ(scene.MessageOf(api::kServersReady), "PodGroup cora-server exists and does not belong to this job");
  EXPECT_THAT(scene.Pods("cora-server-0"), IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::plan
