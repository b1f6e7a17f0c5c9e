// Tests the PodGroups of a job's roles, and which pods are their members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/resources/child.h"
#include "operator/resources/labels.h"
#include "operator/resources/testing/jobs.h"

namespace espalier::ctl::resources {
namespace {

using api::Role;
using kube::Json;
using testing::FullJob;
using testing::Job;
using testing::JobWith;
using testing::SmallJob;

Context WithGang(const Job& job, Role role) {
  Context context = job.context();
  context.gangs.insert(role);
  return context;
}

const Json* GroupOfPods(const Json& child) {
  return kube::Find(child, {"spec", "template", "spec", "schedulingGroup"});
}

TEST(PodGroupBuilderTest, AGroupOfTrainersStartsAndIsPreemptedTogether) {
  const Job job = SmallJob();
  const Json group = PodGroup(WithGang(job, Role::kTrainer), Role::kTrainer, 3);
  EXPECT_EQ(group["apiVersion"], "scheduling.k8s.io/v1beta1");
  EXPECT_EQ(group["kind"], "PodGroup");
  EXPECT_EQ(group["metadata"]["name"], TrainerJob(job.context())["metadata"]["name"]);
  EXPECT_EQ(group["metadata"]["ownerReferences"][0]["uid"], job.training.meta.uid);
  EXPECT_EQ(group["metadata"]["labels"][kJobLabel], job.training.meta.key.name);
  EXPECT_EQ(group["metadata"]["labels"][kComponentLabel], "trainer");
  EXPECT_EQ(group["metadata"]["annotations"][kInputsAnnotation], InputsOfPodGroup(job.context(), 3));
  EXPECT_EQ(group["spec"],
            (Json{{"schedulingPolicy", {{"gang", {{"minCount", 3}}}}}, {"disruptionMode", {{"all", Json::object()}}}}));
}

TEST(PodGroupBuilderTest, ServersArePreemptedOneByOne) {
  const Job job = FullJob();
  const Json group = PodGroup(WithGang(job, Role::kServer), Role::kServer, 2);
  EXPECT_EQ(group["metadata"]["name"], job.training.meta.key.name + "-server");
  EXPECT_FALSE(group["spec"].contains("disruptionMode"));
  EXPECT_NE(InputsOfPodGroup(job.context(), 2), InputsOfPodGroup(job.context(), 1));
}

// kube-scheduler refuses pods whose priority differs from that of their group.
TEST(PodGroupBuilderTest, HasThePriorityClassOfItsPods) {
  const Job job = JobWith({{"trainers", {{"template", {{"spec", {{"priorityClassName", "research"}}}}}}}});
  EXPECT_EQ(PodGroup(job.context(), Role::kTrainer, 2)["spec"]["priorityClassName"], "research");
  EXPECT_FALSE(PodGroup(job.context(), Role::kServer, 2)["spec"].contains("priorityClassName"));
}

TEST(PodGroupBuilderTest, OnlyPodsOfAGangAreMembers) {
  const Job job = FullJob();
  EXPECT_EQ(GroupOfPods(TrainerJob(job.context())), nullptr);
  EXPECT_EQ(GroupOfPods(ServerSet(WithGang(job, Role::kTrainer), 0, false)), nullptr);
  const Json trainers = TrainerJob(WithGang(job, Role::kTrainer));
  ASSERT_NE(GroupOfPods(trainers), nullptr);
  EXPECT_EQ(*GroupOfPods(trainers), (Json{{"podGroupName", trainers["metadata"]["name"]}}));
  for (const Json& set :
       {ServerSet(WithGang(job, Role::kServer), 0, false), SamplerSet(WithGang(job, Role::kSampler), false),
        PartitionJob(WithGang(job, Role::kPartitioner))}) {
    EXPECT_NE(GroupOfPods(set), nullptr) << set["metadata"]["name"];
  }
}

// The membership of existing pods never changes, so it must not look like a change of the child.
TEST(PodGroupBuilderTest, MembershipIsNoInputOfAChild) {
  const Job job = SmallJob();
  const auto inputs = [](const Json& child) { return child["metadata"]["annotations"][kInputsAnnotation]; };
  EXPECT_EQ(inputs(TrainerJob(WithGang(job, Role::kTrainer))), inputs(TrainerJob(job.context())));
  EXPECT_EQ(inputs(ServerSet(WithGang(job, Role::kServer), 0, false)), inputs(ServerSet(job.context(), 0, false)));
}

// Kueue compares templates with those of running pods by resources, and a PodGroup does not exist before admission.
TEST(PodGroupBuilderTest, QueuedWorkloadNamesNoGroup) {
  Job job = SmallJob();
  job.training.meta.labels[kQueueLabel] = "research";
  EXPECT_EQ(QueuedWorkload(WithGang(job, Role::kTrainer), std::nullopt), QueuedWorkload(job.context(), std::nullopt));
}

}  // namespace
}  // namespace espalier::ctl::resources
