#include "operator/kube/queued_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kWorkload[] = R"({
  "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
  "metadata": {"name": "cora-workload", "namespace": "ml", "uid": "u", "resourceVersion": "7", "generation": 2},
  "spec": {"queueName": "research", "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass",
           "name": "high"}, "priority": 100, "maximumExecutionTimeSeconds": 600, "active": false,
           "podSets": [{"name": "trainers", "count": 4, "minCount": 2, "topologyRequest": {"required": "rack", "podIndexLabel": "index"}},
                       {"name": "servers", "topologyRequest": {"podIndexLabel": "index"}}, {"name": "samplers"}]},
  "status": {
    "conditions": [
      {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "reserved"},
      {"type": "Evicted", "status": "False", "reason": "QuotaReserved", "message": ""}],
    "admission": {"clusterQueue": "gpus", "podSetAssignments": [
      {"name": "trainers", "count": 3, "flavors": {"nvidia.com/gpu": "h200", "cpu": "h200", "memory": "big"}},
      {"name": "servers", "flavors": {"cpu": "spot"}, "topologyAssignment": {"levels": ["rack"]}}]},
    "admissionChecks": [{"name": "provision", "state": "Ready", "podSetUpdates": [
      {"name": "trainers", "annotations": {"class": "queued"}, "nodeSelector": {"pool": "new"},
       "tolerations": [{"key": "new", "operator": "Exists"}]}]}],
    "accumulatedPastExecutionTimeSeconds": 90,
    "reclaimablePods": [{"name": "partitioner", "count": 1}]}})";

TEST(QueuedWorkloadTest, IsReadWithKueuesDecision) {
  const Result<QueuedWorkload> workload = ParseQueuedWorkload(*ParseJson(kWorkload));
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  EXPECT_EQ(workload->meta.resource_version, "7");
  EXPECT_FALSE(workload->active);
  EXPECT_EQ(workload->queue, "research");
  EXPECT_EQ(workload->priority_class, "high");
  EXPECT_EQ(workload->max_execution_seconds, 600);
  EXPECT_EQ(workload->cluster_queue, "gpus");
  ASSERT_EQ(workload->assignments.size(), 2u);
  EXPECT_EQ(workload->assignments[0].pod_set, "trainers");
  EXPECT_EQ(workload->assignments[0].count, 3);
  EXPECT_THAT(workload->assignments[0].flavors, ElementsAre("big", "h200"));
  EXPECT_FALSE(workload->assignments[0].has_topology);
  EXPECT_EQ(workload->assignments[1].count, std::nullopt);
  EXPECT_TRUE(workload->assignments[1].has_topology);
  EXPECT_EQ(workload->topology_requested, (std::set<std::string>{"trainers"}));
  ASSERT_EQ(workload->updates.size(), 1u);
  EXPECT_EQ(workload->updates[0].node_selector, (Json{{"pool", "new"}}));
  EXPECT_EQ(workload->updates[0].tolerations.size(), 1u);
  EXPECT_EQ(workload->past_execution_seconds, 90);
  EXPECT_EQ(workload->reclaimable_pods.size(), 1u);
  EXPECT_EQ(workload->CountReclaimable("partitioner"), 1);
  EXPECT_EQ(workload->CountReclaimable("trainers"), 0);
  ASSERT_EQ(workload->pod_sets.size(), 3u);
  ASSERT_NE(workload->FindPodSet("trainers"), nullptr);
  EXPECT_EQ(workload->FindPodSet("trainers")->count, 4);
  EXPECT_EQ(workload->FindPodSet("trainers")->min_count, 2);
  EXPECT_EQ(workload->FindPodSet("samplers")->count, 1);
  EXPECT_EQ(workload->FindPodSet("samplers")->min_count, std::nullopt);
  EXPECT_EQ(workload->FindPodSet("partitioner"), nullptr);
  EXPECT_EQ(workload->FindAssignment("trainers"), &workload->assignments[0]);
  EXPECT_EQ(workload->FindAssignment("samplers"), nullptr);
  EXPECT_TRUE(workload->IsTrue("QuotaReserved"));
  EXPECT_FALSE(workload->IsTrue("Evicted"));
  EXPECT_FALSE(workload->IsTrue("Admitted"));
  EXPECT_EQ(workload->Find("QuotaReserved")->message, "reserved");
}

TEST(QueuedWorkloadTest, NewWorkloadIsActiveWithoutDecision) {
  const Result<QueuedWorkload> workload =
      ParseQueuedWorkload({{"metadata", {{"name", "w"}}}, {"spec", {{"active", "yes"}, {"queueName", 3}}}});
  ASSERT_TRUE(workload.ok());
  EXPECT_TRUE(workload->active);
  EXPECT_EQ(workload->queue, "");
  EXPECT_EQ(workload->cluster_queue, "");
  EXPECT_THAT(workload->assignments, IsEmpty());
  EXPECT_THAT(workload->conditions, IsEmpty());
}

TEST(QueuedWorkloadTest, WorkloadWithoutNameIsInvalid) {
  EXPECT_EQ(ParseQueuedWorkload({{"spec", Json::object()}}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::ctl::kube
