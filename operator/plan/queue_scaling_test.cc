// Tests the number of trainers of a job in a queue of Kueue: partial admission, and changes by users, of a job that
// waits or runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/quota.h"
#include "operator/plan/reasons.h"
#include "operator/plan/testing/queued_scene.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

using api::Phase;
using kube::Json;
using ::testing::Contains;
using testing::Described;
using ::testing::IsEmpty;
using testing::PartitionEnding;
using testing::QueuedScene;
using testing::Scene;
using testing::TrainInQueue;
using testing::WorkloadIn;

const Json kPartitionerReclaimed = {{"name", "partitioner"}, {"count", 1}};

TEST(QueueScalingTest, FewerTrainersRunIfKueueAdmitsFewer) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 4}, {"minReplicas", 2}}}});
  scene.Settle();
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["podSets"].back()["minCount"], 2);
  scene.cluster().AdmitWorkload("spot", /*trainers=*/3);
  scene.Settle();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().trainer_replicas, 3);
  EXPECT_EQ(scene.Pods("cora-trainer-1").size(), 3u);
  EXPECT_EQ(scene.status().incarnation, 1);
}

TEST(QueueScalingTest, QuotaCountsThePodsOfSeveralTrainers) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 6}, {"minReplicas", 2}, {"containersPerPod", 2}}}});
  scene.Settle();
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["podSets"].back()["count"], 3);
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["podSets"].back()["minCount"], 1);
  scene.cluster().AdmitWorkload("spot", /*trainers=*/2);
  scene.Settle();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().trainer_replicas, 4);
  EXPECT_EQ(scene.Pods("cora-trainer-1").size(), 2u);
  EXPECT_EQ(scene.status().replicas.at("trainer"), (api::ReplicaStatus{.wanted = 2, .ready = 2, .failed = 0}));
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved),
            "Workload cora-workload is admitted by ClusterQueue gpus, with 4 of 6 trainers");

  scene.Edit({{"trainers", {{"replicas", 2}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().trainer_replicas, 2);
  EXPECT_EQ(scene.Pods("cora-trainer-2").size(), 1u);
  EXPECT_EQ(WorkloadIn(scene).reclaimable_pods,
            Json::array({kPartitionerReclaimed, {{"name", "trainers"}, {"count", 2}}}));
}

TEST(QueueScalingTest, AChangeWhileItWaitsChangesTheWorkloadAndKeepsItsPlace) {
  Scene scene = QueuedScene();
  scene.Settle();
  const std::string uid = WorkloadIn(scene).meta.uid;
  scene.Edit({{"trainers", {{"replicas", 3}}}});
  scene.cluster().SetLabel(resources::kQueueLabel, "urgent");
  scene.Settle();
  EXPECT_EQ(WorkloadIn(scene).meta.uid, uid);
  EXPECT_EQ(WorkloadIn(scene).queue, "urgent");
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["podSets"].back()["count"], 3);
}

TEST(QueueScalingTest, FewerTrainersOfARunningJobGiveQuotaBackWhenTheLargerGroupHasEnded) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 4}}}});
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  const std::string uid = WorkloadIn(scene).meta.uid;
  scene.Edit({{"trainers", {{"replicas", 1}}}});
  scene.Act();  // dry run
  EXPECT_THAT(Described(scene.Act().actions), Contains("delete Job cora-trainer-1"));
  EXPECT_EQ(WorkloadIn(scene).reclaimable_pods, Json::array({kPartitionerReclaimed})) << "four trainers run";
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.restart_reason(), kScaled);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.status().trainer_replicas, 1);
  EXPECT_EQ(WorkloadIn(scene).meta.uid, uid);
  EXPECT_TRUE(WorkloadIn(scene).IsTrue(kWorkloadAdmitted));
  EXPECT_EQ(WorkloadIn(scene).reclaimable_pods,
            Json::array({kPartitionerReclaimed, {{"name", "trainers"}, {"count", 3}}}));
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload is admitted by ClusterQueue gpus");

  scene.Edit({{"trainers", {{"replicas", 2}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended) << "the quota that was given back may be in use";
  EXPECT_NE(WorkloadIn(scene).meta.uid, uid);
  EXPECT_THAT(WorkloadIn(scene).reclaimable_pods, IsEmpty());
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["podSets"].back()["count"], 2);
}

TEST(QueueScalingTest, AScaledJobThatIsEvictedIsQueuedWithItsNewNumberOfTrainers) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 4}}}});
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.Edit({{"trainers", {{"replicas", 1}}}});
  scene.Settle();
  const std::string uid = WorkloadIn(scene).meta.uid;
  scene.cluster().EvictWorkload("Preempted", "Preempted to accommodate a workload");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(WorkloadIn(scene).meta.uid, uid) << "it keeps its place in the queue";
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["podSets"].back()["count"], 1);
  EXPECT_EQ(WorkloadIn(scene).reclaimable_pods, Json::array({kPartitionerReclaimed}));
  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().trainer_replicas, 1);
}

TEST(QueueScalingTest, AJobThatIsAdmittedWithFewerTrainersIsNotDisturbedWhileThatNumberIsAllowed) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 4}, {"minReplicas", 2}}}});
  scene.Settle();
  scene.cluster().AdmitWorkload("spot", /*trainers=*/2);
  scene.Settle();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  const std::string uid = WorkloadIn(scene).meta.uid;
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved),
            "Workload cora-workload is admitted by ClusterQueue gpus, with 2 of 4 trainers");
  for (const Json& trainers : {Json{{"replicas", 3}}, Json{{"minReplicas", 1}}, Json{{"replicas", 4}},
                               Json{{"maxReplicas", 8}}, Json{{"replicas", 2}}}) {
    scene.Edit({{"trainers", trainers}});
    scene.Settle();
    EXPECT_EQ(scene.status().phase, Phase::kTraining) << trainers;
    EXPECT_EQ(scene.status().incarnation, 1) << trainers;
    EXPECT_EQ(WorkloadIn(scene).reclaimable_pods, Json::array({kPartitionerReclaimed})) << trainers;
  }
  EXPECT_EQ(WorkloadIn(scene).meta.uid, uid);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload is admitted by ClusterQueue gpus");

  scene.Edit({{"trainers", {{"replicas", 1}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().trainer_replicas, 1);
  EXPECT_EQ(WorkloadIn(scene).reclaimable_pods,
            Json::array({kPartitionerReclaimed, {{"name", "trainers"}, {"count", 3}}}))
      << "counted from the pod set's 4";
}

TEST(QueueScalingTest, AMinimumAboveTheAdmittedNumberPutsTheJobBackIntoTheQueue) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 4}, {"minReplicas", 2}}}});
  scene.Settle();
  scene.cluster().AdmitWorkload("spot", /*trainers=*/2);
  scene.Settle();
  scene.Edit({{"trainers", {{"minReplicas", 3}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["podSets"].back()["minCount"], 3);
}

TEST(QueueScalingTest, FewerTrainersBeforeTheFirstIncarnationStartAsThatNumber) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 3}, {"minReplicas", 3}}}});
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  scene.Edit({{"trainers", {{"replicas", 2}, {"minReplicas", 2}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
  EXPECT_EQ(WorkloadIn(scene).reclaimable_pods, Json::array({{{"name", "trainers"}, {"count", 1}}}));
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 1);
  EXPECT_EQ(scene.Pods("cora-trainer-1").size(), 2u);
  EXPECT_EQ(WorkloadIn(scene).CountReclaimable("partitioner"), 1);
  EXPECT_EQ(WorkloadIn(scene).CountReclaimable("trainers"), 1);
}

TEST(QueueScalingTest, ADocumentThatIsRefusedGivesNoQuotaBack) {
  Scene scene = QueuedScene({{"trainers", {{"replicas", 4}}}});
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  const std::string uid = WorkloadIn(scene).meta.uid;
  scene.cluster().set_template_error("trainers.template: unknown field");
  scene.Edit({{"trainers", {{"replicas", 1}}}});
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kAccepted), kInvalidTemplate);
  EXPECT_THAT(WorkloadIn(scene).reclaimable_pods, IsEmpty());

  scene.cluster().set_template_error({});
  scene.Edit({{"trainers", {{"replicas", 4}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning) << "all quota is left";
  EXPECT_EQ(WorkloadIn(scene).meta.uid, uid);
  EXPECT_THAT(WorkloadIn(scene).reclaimable_pods, IsEmpty());
}

TEST(QueueScalingTest, MoreTrainersPutARunningJobBackIntoTheQueue) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  const std::string uid = WorkloadIn(scene).meta.uid;
  scene.Edit({{"trainers", {{"replicas", 3}}}});
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_NE(WorkloadIn(scene).meta.uid, uid);
  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().trainer_replicas, 3);
}

}  // namespace
}  // namespace espalier::ctl::plan
