// Tests a job in a queue of Kueue: when it waits and runs, where its pods are placed, and what its Workload says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/quota.h"
#include "operator/plan/reasons.h"
#include "operator/plan/testing/queued_scene.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Phase;
using kube::Json;
using ::testing::AllOf;
using ::testing::Contains;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PartitionEnding;
using testing::QueuedScene;
using testing::Scene;
using testing::SpotFlavor;
using testing::TrainInQueue;
using testing::WorkloadIn;

constexpr std::chrono::seconds kMinute{60};

const Json* PodTemplateOf(const Plan& plan, const std::string& name) {
  for (const Action& action : plan.actions) {
    const auto* const apply = std::get_if<ApplyChild>(&action);
    if (apply == nullptr || kube::StringAt(apply->object, {"metadata", "name"}) != name) continue;
    return kube::Find(apply->object, {"spec", "template"});
  }
  return nullptr;
}

TEST(QueueTest, AJobWaitsWithoutPodsUntilItIsAdmitted) {
  Scene scene = QueuedScene();
  scene.Act();  // dry run
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("apply Workload cora-workload"));
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_FALSE(scene.status().started_at.has_value());
  EXPECT_TRUE(scene.cluster().Now().others.empty());
  EXPECT_EQ(scene.ConditionOf(api::kQuotaReserved), ConditionStatus::kFalse);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kPending);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload is in the queue research");

  scene.cluster().SetWorkloadCondition(kWorkloadQuotaReserved, false, "Pending", "insufficient unused quota for cpu");
  scene.Settle();
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload: insufficient unused quota for cpu");
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);

  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
  EXPECT_EQ(scene.ConditionOf(api::kQuotaReserved), ConditionStatus::kTrue);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload is admitted by ClusterQueue gpus");
}

TEST(QueueTest, QuotaWithoutAdmissionIsNotEnough) {
  Scene scene = QueuedScene();
  scene.Settle();
  scene.cluster().SetWorkloadCondition(kWorkloadQuotaReserved, true, "QuotaReserved", "Quota reserved");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload has quota and waits for admission checks");
}

TEST(QueueTest, AJobWithoutTheLabelHasNoWorkload) {
  Scene scene;
  scene.cluster().set_uses_kueue(true);
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kPartitioning);
  EXPECT_EQ(scene.cluster().FindWorkload(), nullptr);
  EXPECT_EQ(api::FindCondition(scene.status(), api::kQuotaReserved), nullptr);
}

TEST(QueueTest, PodsOfAllRolesAreMadeForTheirFlavors) {
  Scene scene = QueuedScene();
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  const auto is_placed = [](const Json* pod) {
    return pod != nullptr && (*pod)["spec"]["nodeSelector"]["pool"] == "spot" &&
           (*pod)["spec"]["tolerations"].back()["key"] == "spot";
  };
  EXPECT_TRUE(is_placed(PodTemplateOf(scene.NextPlan(), "cora-partition-1")));
  scene.Settle();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  EXPECT_TRUE(is_placed(PodTemplateOf(scene.Act(), "cora-server-0")));
  EXPECT_TRUE(is_placed(PodTemplateOf(scene.NextPlan(), "cora-trainer-1")));
}

TEST(QueueTest, NothingIsMadeWhileAFlavorCannotBeRead) {
  Scene scene = QueuedScene();
  scene.cluster().PutFlavor("spot", {.error = "forbidden"});
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  const Plan plan = scene.Act();
  EXPECT_THAT(Described(plan.actions), Not(Contains(HasSubstr("apply"))));
  EXPECT_EQ(plan.requeue_after, std::chrono::seconds(10));
  ASSERT_TRUE(scene.status().last_error.has_value());
  EXPECT_EQ(scene.status().last_error->reason, kFlavorUnavailable);
  EXPECT_EQ(scene.status().last_error->message, "ResourceFlavor spot: forbidden");
  scene.cluster().PutFlavor("spot", SpotFlavor());
  scene.Settle();
  EXPECT_EQ(scene.Pods("cora-partition-1").size(), 1u);
  EXPECT_FALSE(scene.status().last_error.has_value());
}

TEST(QueueTest, UpdatesOfAdmissionChecksArePassedOn) {
  Scene scene = QueuedScene();
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  scene.cluster().EditWorkload([](Json* workload) {
    (*workload)["status"]["admissionChecks"] =
        Json::array({{{"name", "provision"},
                      {"state", "Ready"},
                      {"podSetUpdates",
                       Json::array({{{"name", "partitioner"}, {"annotations", {{"example.com/request", "r1"}}}}})}}});
  });
  const Plan plan = scene.NextPlan();
  const Json* const pod = PodTemplateOf(plan, "cora-partition-1");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ((*pod)["metadata"]["annotations"]["example.com/request"], "r1");
}

TEST(QueueTest, EvictionSavesCheckpointThenReleasesQuota) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.cluster().Pass(kMinute);
  scene.cluster().EvictWorkload("Preempted", "Preempted to accommodate a workload");
  EXPECT_THAT(Described(scene.Act().actions), ElementsAre("delete Job cora-trainer-1", "delete Job cora-partition-1"));
  EXPECT_EQ(scene.status().phase, Phase::kSuspending);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kEvicted);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Preempted: Preempted to accommodate a workload");
  EXPECT_TRUE(WorkloadIn(scene).IsTrue(kWorkloadQuotaReserved)) << "pods are left";
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_TRUE(scene.cluster().Now().pods.empty());
  const kube::QueuedWorkload released = WorkloadIn(scene);
  EXPECT_FALSE(released.IsTrue(kWorkloadQuotaReserved));
  EXPECT_FALSE(released.IsTrue(kWorkloadAdmitted));
  EXPECT_TRUE(released.IsTrue(kWorkloadEvicted)) << "Kueue clears it at the next admission";
  EXPECT_TRUE(released.IsTrue(kWorkloadRequeued));
  EXPECT_EQ(released.Find(kWorkloadRequeued)->reason, "Preempted");
  EXPECT_EQ(released.Find(kWorkloadPodsReady)->reason, "WaitForStart");
  EXPECT_EQ(released.cluster_queue, "");
  EXPECT_EQ(released.past_execution_seconds, 60);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kPending);
  scene.cluster().SetWorkloadCondition(kWorkloadQuotaReserved, false, "Pending", "insufficient unused quota for cpu");
  scene.Settle();
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload: insufficient unused quota for cpu");

  scene.cluster().PutFlavor("reserved",
                            {.node_labels = {{"pool", "reserved"}}, .tolerations = Json::array(), .error = {}});
  scene.cluster().AdmitWorkload("reserved");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 2);
  EXPECT_EQ(scene.restart_reason(), kResumed);
  EXPECT_EQ(scene.status().attempts_counted, 0);
  EXPECT_EQ(WorkloadIn(scene).Find(kWorkloadPodsReady)->reason, "Started");
}

TEST(QueueTest, AnEvictionForAnotherReasonLeavesRequeuingToKueue) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.cluster().EvictWorkload("PodsReadyTimeout", "Exceeded the PodsReady timeout");
  scene.Settle();
  EXPECT_FALSE(WorkloadIn(scene).IsTrue(kWorkloadQuotaReserved));
  EXPECT_EQ(WorkloadIn(scene).Find(kWorkloadRequeued)->status, "False");
}

TEST(QueueTest, DeactivatedWorkloadHasRemedy) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.cluster().EditWorkload([](Json* workload) { (*workload)["spec"]["active"] = false; });
  scene.cluster().EvictWorkload("Deactivated", "The workload is deactivated");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved),
            "Deactivated: The workload is deactivated; set spec.active of Workload cora-workload to true to queue it");
  EXPECT_FALSE(WorkloadIn(scene).active) << "not the operator's field";

  scene.cluster().EditWorkload([](Json* workload) { (*workload)["spec"]["active"] = true; });
  scene.cluster().SetWorkloadCondition(kWorkloadRequeued, true, "Reactivated", "The workload was reactivated");
  scene.Settle();
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kPending);
}

TEST(QueueTest, AfterTheTimeLimitANewWorkloadQueuesTheJobAgain) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.cluster().EditWorkload([](Json* workload) { (*workload)["spec"]["active"] = false; });
  scene.cluster().EvictWorkload("DeactivatedDueToMaximumExecutionTimeExceeded",
                                "The workload is deactivated due to exceeding the maximum execution time");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved),
            "DeactivatedDueToMaximumExecutionTimeExceeded: The workload is deactivated due to exceeding the maximum "
            "execution time; delete Workload cora-workload to queue the job again");
}

TEST(QueueTest, ADeletedWorkloadIsMadeAgainWhenNoPodIsLeft) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.cluster().DeleteChild(kube::kWorkloads, "cora-workload", kube::Propagation::kBackground);
  EXPECT_THAT(Described(scene.Act().actions), ElementsAre("delete Job cora-trainer-1", "delete Job cora-partition-1"));
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "the job's Workload is gone; its pods are being stopped");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  ASSERT_NE(scene.cluster().FindWorkload(), nullptr);
  EXPECT_FALSE(WorkloadIn(scene).IsTrue(kWorkloadQuotaReserved));
  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(QueueTest, TwoRestartsOfAnAdmittedJobKeepItsQuota) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  for (int restart = 1; restart <= 2; ++restart) {
    scene.TrainerPodEnded(0, 137, "Error");
    scene.SettleWithin(testing::kSoon);
    EXPECT_EQ(scene.status().phase, Phase::kTraining);
    EXPECT_EQ(scene.status().incarnation, 1 + restart);
    EXPECT_TRUE(WorkloadIn(scene).IsTrue(kWorkloadAdmitted));
    EXPECT_EQ(WorkloadIn(scene).Find(kWorkloadPodsReady)->reason, "Recovered");
  }
}

TEST(QueueTest, PodsReadyFollowsTheStagesOfTheJob) {
  Scene scene = QueuedScene();
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  scene.Act();
  EXPECT_EQ(WorkloadIn(scene).Find(kWorkloadPodsReady)->reason, "WaitForStart");
  scene.Settle();
  EXPECT_TRUE(WorkloadIn(scene).IsTrue(kWorkloadPodsReady));
  EXPECT_THAT(WorkloadIn(scene).reclaimable_pods, IsEmpty());
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Act();
  EXPECT_TRUE(WorkloadIn(scene).IsTrue(kWorkloadPodsReady)) << "servers start";
  scene.Settle();
  EXPECT_EQ(WorkloadIn(scene).reclaimable_pods, Json::array({{{"name", "partitioner"}, {"count", 1}}}));
  scene.TrainerPodEnded(0, 137, "Error");
  scene.SettleAfter(std::chrono::seconds(5));
  EXPECT_EQ(WorkloadIn(scene).Find(kWorkloadPodsReady)->reason, "WaitForRecovery");
}

TEST(QueueTest, TheEndOfTheJobFinishesTheWorkload) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.TrainersDone();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSucceeded);
  const auto finished = WorkloadIn(scene).Find(kWorkloadFinished);
  ASSERT_TRUE(finished && finished->is_true());
  EXPECT_EQ(finished->reason, "Succeeded");
  EXPECT_EQ(finished->message, "Completed: all trainers have ended and the outputs are complete");
  EXPECT_EQ(scene.ConditionOf(api::kQuotaReserved), ConditionStatus::kFalse);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kJobEnded);
}

TEST(QueueTest, AFailureFinishesTheWorkloadAsFailed) {
  Scene scene = QueuedScene({{"runPolicy", {{"backoffLimit", 0}}}});
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.TrainerPodEnded(0, 65, "Error");
  scene.SettleWithin(testing::kSoon);
  EXPECT_EQ(scene.status().phase, Phase::kFailed);
  EXPECT_EQ(WorkloadIn(scene).Find(kWorkloadFinished)->reason, "Failed");
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kJobEnded);
}

TEST(QueueTest, SuspendedJobDeletesItsWorkload) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.Suspend();
  scene.Act();
  EXPECT_NE(scene.cluster().FindWorkload(), nullptr) << "pods are left";
  scene.Settle();
  EXPECT_EQ(scene.cluster().FindWorkload(), nullptr);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kNotQueued);
  scene.Resume();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
}

TEST(QueueTest, RemovingLabelOfRunningJobDeletesOnlyWorkload) {
  Scene scene = QueuedScene();
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.cluster().SetLabel(resources::kQueueLabel, "");
  scene.Settle();
  EXPECT_EQ(scene.cluster().FindWorkload(), nullptr);
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 1);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kNotQueued);
}

TEST(QueueTest, ThePriorityClassIsReadBeforeTheWorkloadIsMade) {
  Scene scene = QueuedScene();
  scene.cluster().SetLabel(resources::kQueuePriorityLabel, "high");
  scene.Settle();
  EXPECT_EQ(scene.cluster().FindWorkload(), nullptr);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "WorkloadPriorityClass high: not found");
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::seconds(10));
  scene.cluster().set_priority(100);
  scene.Settle();
  EXPECT_EQ((*scene.cluster().FindWorkload())["spec"]["priority"], 100);
  EXPECT_EQ(WorkloadIn(scene).priority_class, "high");
}

TEST(QueueTest, DisabledKueueNamesMissingSetting) {
  Scene scene = QueuedScene();
  scene.cluster().set_uses_kueue(false);
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kKueueDisabled);
  EXPECT_EQ(
      scene.MessageOf(api::kQuotaReserved),
      "the label kueue.x-k8s.io/queue-name asks for the queue research of Kueue, which this operator does not use: "
      "set kueue.enabled of the chart (--kueue), or remove the label");
}

TEST(QueueTest, WithoutTheApiANewJobWaitsAndARunningOneContinues) {
  Scene scene = QueuedScene();
  scene.cluster().set_workloads_unknown("LIST workloads: the server could not find the requested resource");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSuspended);
  EXPECT_EQ(scene.ConditionOf(api::kQuotaReserved), ConditionStatus::kUnknown);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kKueueUnavailable);
  EXPECT_THAT(scene.MessageOf(api::kQuotaReserved),
              AllOf(HasSubstr("could not find the requested resource"), HasSubstr("kueue.enabled")));
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::seconds(10));

  scene.cluster().set_workloads_unknown("");
  ASSERT_NO_FATAL_FAILURE(TrainInQueue(scene));
  scene.cluster().set_workloads_unknown("LIST workloads: forbidden");
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kTraining);
  EXPECT_EQ(scene.status().incarnation, 1);
}

TEST(QueueTest, ANameThatIsTakenIsReported) {
  Scene scene = QueuedScene();
  scene.cluster().Occupy(kube::kWorkloads, "cora-workload", /*with_label=*/false);
  scene.Settle();
  EXPECT_EQ(scene.cluster().FindWorkload(), nullptr);
  EXPECT_EQ(scene.ReasonOf(api::kQuotaReserved), kNameTaken);
  EXPECT_EQ(scene.MessageOf(api::kQuotaReserved), "Workload cora-workload exists and does not belong to this job");
}

// Kueue removes the gate from each pod when it has added the node labels of the pod's place.
TEST(QueueTest, PodsWithAPlaceInATopologyWaitForKueue) {
  Scene scene = QueuedScene();
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  scene.cluster().EditWorkload([](Json* workload) {
    (*workload)["spec"]["podSets"][1]["topologyRequest"] = {{"required", "rack"}};
    for (Json& assignment : (*workload)["status"]["admission"]["podSetAssignments"]) {
      if (assignment["name"] != "partitioner") assignment["topologyAssignment"] = {{"levels", {"rack"}}};
    }
  });
  scene.Settle();
  ASSERT_EQ(scene.status().phase, Phase::kPartitioning);
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  const Plan servers = scene.Act();
  const Json* pod = PodTemplateOf(servers, "cora-server-0");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ((*pod)["spec"]["schedulingGates"], (Json::array({{{"name", "kueue.x-k8s.io/topology"}}})));
  EXPECT_EQ((*pod)["metadata"]["labels"]["kueue.x-k8s.io/podset"], "servers");
  EXPECT_EQ((*pod)["metadata"]["annotations"]["kueue.x-k8s.io/workload"], "cora-workload");
  EXPECT_FALSE((*pod)["metadata"]["annotations"].contains(resources::kUnconstrainedTopologyAnnotation));
  const Plan trainers = scene.NextPlan();
  pod = PodTemplateOf(trainers, "cora-trainer-1");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ((*pod)["metadata"]["labels"]["kueue.x-k8s.io/podset"], "trainers");
  // The queue assigns places to all pods; this role has not asked for one.
  EXPECT_EQ((*pod)["metadata"]["annotations"][resources::kUnconstrainedTopologyAnnotation], "true");
}

TEST(QueueTest, PodsWithoutAPlaceInATopologyDoNotWait) {
  Scene scene = QueuedScene();
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  const Plan plan = scene.Act();
  const Json* const pod = PodTemplateOf(plan, "cora-partition-1");
  ASSERT_NE(pod, nullptr);
  EXPECT_FALSE((*pod)["spec"].contains("schedulingGates"));
}

}  // namespace
}  // namespace espalier::ctl::plan
