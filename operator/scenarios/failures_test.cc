// What goes wrong with pods and nodes, and what the operator makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/resources/labels.h"
#include "operator/testing/operator_world.h"

namespace espalier::ctl::cluster {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using kube::Json;

// `end` for rank 0 of the first `incarnations`; the later ones train on.
FakeCluster::Program RankZeroEnds(PodEnd end, int64_t incarnations) {
  return [end, incarnations](const RunningPod& pod) -> std::optional<PodEnd> {
    if (pod.role == "trainer" && pod.index == 0 && pod.incarnation <= incarnations) return end;
    return FakeCluster::DefaultProgram(pod);
  };
}

std::string ReasonOfPartitioned(const OperatorWorld& world) {
  const api::Status status = world.StatusOf("cora");
  const api::Condition* partitioned = api::FindCondition(status, api::kPartitioned);
  return partitioned == nullptr ? "" : partitioned->reason;
}

Json TwoTrainers() { return {{"trainers", {{"replicas", 2}}}}; }

TEST(FailuresTest, CrashedTrainerStartsNewIncarnation) {
  OperatorWorld world;
  world.cluster.SetProgram(RankZeroEnds(Exit(70, "a bug"), 1));
  world.Create("cora", TwoTrainers());
  ASSERT_TRUE(
      world.RunUntil([&] { return world.StatusOf("cora").incarnation == 2 && world.PhaseOf("cora") == "Training"; }));
  const api::Status status = world.StatusOf("cora");
  EXPECT_EQ(status.attempts_counted, 1);
  ASSERT_TRUE(status.last_error.has_value());
  EXPECT_EQ(status.last_error->exit_code, 70);
  EXPECT_THAT(status.last_error->message, HasSubstr("a bug"));
  EXPECT_THAT(world.Names(kube::kJobs), Not(Contains("cora-trainer-1")));
}

TEST(FailuresTest, GivesUpAfterBackoffLimit) {
  OperatorWorld world;
  world.cluster.SetProgram(RankZeroEnds(Exit(74, "the store is gone"), 1000));
  Json spec = TwoTrainers();
  spec["runPolicy"] = {{"backoffLimit", 2}};
  world.Create("cora", spec);
  ASSERT_TRUE(world.RunUntilPhase("cora", "Failed", std::chrono::minutes(60)))
      << kube::Print(*world.server.Find(kube::kDistTrainings, {"ml", "cora"}));
  EXPECT_EQ(world.StatusOf("cora").incarnation, 3);
  EXPECT_EQ(api::FindCondition(world.StatusOf("cora"), api::kFailed)->reason, "BackoffLimitExceeded");
}

TEST(FailuresTest, BadInputIsNeverRetried) {
  OperatorWorld world;
  world.cluster.SetProgram(RankZeroEnds(Exit(65, "an edge id is out of range"), 1000));
  world.Create("cora", TwoTrainers());
  ASSERT_TRUE(world.RunUntilPhase("cora", "Failed"));
  EXPECT_EQ(world.StatusOf("cora").incarnation, 1);
  EXPECT_THAT(api::FindCondition(world.StatusOf("cora"), api::kFailed)->message, HasSubstr("an edge id"));
}

TEST(FailuresTest, BadInputOfThePartitionerFailsTheJob) {
  OperatorWorld world;
  world.cluster.SetProgram([](const RunningPod&) { return std::optional(Exit(65, "no such graph")); });
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Failed"));
  EXPECT_EQ(world.StatusOf("cora").partition_attempt, 1);
  EXPECT_EQ(world.StatusOf("cora").last_error->role, "partitioner");
}

TEST(FailuresTest, OutOfMemoryIsReported) {
  OperatorWorld world;
  world.cluster.SetProgram(RankZeroEnds(OutOfMemoryEnd(), 1));
  world.Create("cora", TwoTrainers());
  ASSERT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").incarnation == 2; }));
  EXPECT_EQ(world.StatusOf("cora").last_error->reason, "OOMKilled");
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 1);
}

TEST(FailuresTest, StopIsRetriedAndNotCounted) {
  OperatorWorld world;
  world.cluster.SetProgram(RankZeroEnds(Exit(75, "stopped on request"), 1));
  world.Create("cora", TwoTrainers());
  ASSERT_TRUE(
      world.RunUntil([&] { return world.StatusOf("cora").incarnation == 2 && world.PhaseOf("cora") == "Training"; }));
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 0);
}

TEST(FailuresTest, LostServerRestartsWithoutNewIncarnation) {
  OperatorWorld world;
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  ASSERT_TRUE(world.server.Remove(kube::kPods, {"ml", "cora-server-0-0"}).ok());
  world.Settle();
  EXPECT_THAT(world.Names(kube::kPods), Contains("cora-server-0-0"));
  EXPECT_EQ(world.StatusOf("cora").incarnation, 1);
  EXPECT_TRUE(api::IsTrue(world.StatusOf("cora"), api::kServersReady));
}

// For the watches it is deleted: a policy engine that puts its own name on everything does this.
void TakeLabelsOff(OperatorWorld& world, const kube::Resource& resource, const std::string& name) {
  ASSERT_TRUE(world.server
                  .Update(resource, {"ml", name},
                          [](Json& object) {
                            object["metadata"]["labels"][resources::kManagedByLabel] = "a-policy";
                            object["metadata"]["labels"].erase(resources::kJobLabel);
                          })
                  .ok());
}

TEST(FailuresTest, LabelsOfChildrenAreRestored) {
  OperatorWorld world;
  bool done = false;
  world.cluster.SetProgram([&done](const RunningPod& pod) -> std::optional<PodEnd> {
    if (pod.role == "trainer" && done) return Exit(0, "trained");
    return FakeCluster::DefaultProgram(pod);
  });
  world.Create("cora", TwoTrainers());
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  TakeLabelsOff(world, kube::kStatefulSets, "cora-server-0");
  TakeLabelsOff(world, kube::kJobs, "cora-trainer-1");
  world.Settle();
  EXPECT_TRUE(api::IsTrue(world.StatusOf("cora"), api::kServersReady));
  EXPECT_EQ(world.StatusOf("cora").incarnation, 1);
  EXPECT_THAT(world.Names(kube::kPods), Contains("cora-server-0-0"));

  done = true;
  ASSERT_TRUE(world.RunUntilPhase("cora", "Succeeded"));
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 0);
}

TEST(FailuresTest, AServerWithBadInputFailsTheJob) {
  OperatorWorld world;
  world.cluster.SetProgram([](const RunningPod& pod) -> std::optional<PodEnd> {
    if (pod.role == "server" && pod.restarts == 0) return Exit(65, "a flipped bit");
    return FakeCluster::DefaultProgram(pod);
  });
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Failed"));
  EXPECT_EQ(world.StatusOf("cora").last_error->role, "server");
}

TEST(FailuresTest, DeadNodeStartsUncountedIncarnation) {
  OperatorWorld world;
  world.Create("cora", TwoTrainers());
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  std::string node;
  std::string pod_there;
  for (const Json& pod : world.server.All(kube::kPods)) {
    const std::string name = kube::StringAt(pod, {"metadata", "name"});
    if (name.rfind("cora-trainer-1-0", 0) == 0) {
      node = kube::StringAt(pod, {"spec", "nodeName"});
      pod_there = name;
    }
  }
  ASSERT_FALSE(node.empty());

  world.cluster.FailNode(node);
  world.cluster.EvictFromFailedNodes();
  ASSERT_TRUE(
      world.RunUntil([&] { return world.StatusOf("cora").incarnation == 2 && world.PhaseOf("cora") == "Training"; },
                     std::chrono::minutes(30)));
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 0);
  EXPECT_THAT(world.Names(kube::kPods), Not(Contains(pod_there)));  // deleted by force: no kubelet does it
  for (const Json& pod : world.server.All(kube::kPods)) {
    EXPECT_NE(kube::StringAt(pod, {"spec", "nodeName"}), node) << kube::StringAt(pod, {"metadata", "name"});
  }
}

TEST(FailuresTest, PodQuotaIsReportedUntilRemoved) {
  OperatorWorld world;
  world.cluster.RefusePods("pods \"cora-partition-1-0\" is forbidden: exceeded quota");
  world.Create("cora");
  const auto says_quota = [&] {
    const api::Status status = world.StatusOf("cora");
    const api::Condition* partitioned = api::FindCondition(status, api::kPartitioned);
    return partitioned != nullptr && partitioned->message.find("exceeded quota") != std::string::npos;
  };
  ASSERT_TRUE(world.RunUntil(says_quota, std::chrono::seconds(10)));
  world.cluster.RefusePods("");
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training"));
}

TEST(FailuresTest, MissingSecretIsReportedUntilCreated) {
  OperatorWorld world;
  world.Create("cora", {{"storage", {{"s3", {{"credentials", {{"secretName", "cora-s3"}}}}}}}});
  ASSERT_TRUE(world.RunUntil(
      [&] {
        const std::optional<Json> object = world.server.Find(kube::kDistTrainings, {"ml", "cora"});
        return kube::Print(*object).find("cora-s3") != std::string::npos &&
               kube::Print(*object).find("SecretMissing") != std::string::npos;
      },
      std::chrono::seconds(10)));
  EXPECT_THAT(world.Names(kube::kPods), IsEmpty());
  ASSERT_TRUE(world.server
                  .Put(kube::kSecrets, {{"apiVersion", "v1"},
                                        {"kind", "Secret"},
                                        {"metadata", {{"name", "cora-s3"}, {"namespace", "ml"}}},
                                        {"data", {{"AWS_ACCESS_KEY_ID", "eA=="}}}})
                  .ok());
  ASSERT_TRUE(
      world.RunUntil([&] { return ReasonOfPartitioned(world) == "SecretKeyMissing"; }, std::chrono::seconds(10)));
  EXPECT_THAT(world.StatusOf("cora").last_error->message, HasSubstr("lacks AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(world.Names(kube::kPods), IsEmpty());
  ASSERT_TRUE(world.server
                  .Update(kube::kSecrets, {"ml", "cora-s3"},
                          [](Json& secret) { secret["data"]["AWS_SECRET_ACCESS_KEY"] = "eA=="; })
                  .ok());
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training"));
}

TEST(FailuresTest, SuspendedChildReportsWriter) {
  OperatorWorld world;
  world.cluster.HoldBack("partitioner");
  world.Create("cora");
  ASSERT_TRUE(world.RunUntil([&] { return !world.Names(kube::kPods).empty(); }));
  const auto suspend = [&](bool suspended) {
    return world.server.Update(kube::kJobs, {"ml", "cora-partition-1"}, [&](Json& job) {
      job["spec"]["suspend"] = suspended;
      job["metadata"]["managedFields"] = Json::array({{{"manager", "kueue"},
                                                       {"time", "2026-01-02T03:05:00Z"},
                                                       {"fieldsV1", {{"f:spec", {{"f:suspend", Json::object()}}}}}}});
    });
  };
  ASSERT_TRUE(suspend(true).ok());
  ASSERT_TRUE(world.RunUntil([&] { return ReasonOfPartitioned(world) == "JobSuspended"; }, std::chrono::seconds(10)));
  EXPECT_EQ(
      api::FindCondition(world.StatusOf("cora"), api::kPartitioned)->message,
      "spec.suspend of Job cora-partition-1 has been true since 2026-01-02T03:05:00Z, set by field manager kueue");
  world.cluster.Release("partitioner");
  ASSERT_TRUE(suspend(false).ok());
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_FALSE(world.StatusOf("cora").last_error.has_value());
}

// As the kubelet writes it: no container is made, and the pod says nothing itself.
TEST(FailuresTest, MountFailureIsReportedUntilResolved) {
  OperatorWorld world;
  const Json volumes = Json::array({{{"name", "extra"}, {"configMap", {{"name", "absent"}}}}});
  world.cluster.HoldBack("partitioner");
  world.Create("cora", {{"partitioner", {{"template", {{"spec", {{"volumes", volumes}}}}}}}});
  ASSERT_TRUE(world.RunUntil([&] { return !world.Names(kube::kPods).empty(); }));
  const Json pod = world.server.All(kube::kPods).front();
  ASSERT_TRUE(world.server
                  .Put(kube::kCoreEvents,
                       {{"apiVersion", "v1"},
                        {"kind", "Event"},
                        {"metadata", {{"name", "cora.mount"}, {"namespace", "ml"}}},
                        {"involvedObject", {{"kind", "Pod"}, {"uid", kube::StringAt(pod, {"metadata", "uid"})}}},
                        {"type", "Warning"},
                        {"reason", "FailedMount"},
                        {"message", "MountVolume.SetUp failed: configmap \"absent\" not found"}})
                  .ok());
  ASSERT_TRUE(world.RunUntil([&] { return ReasonOfPartitioned(world) == "FailedMount"; }, std::chrono::seconds(10)));
  EXPECT_THAT(world.StatusOf("cora").last_error->message, HasSubstr("configmap \"absent\" not found"));
  world.cluster.Release("partitioner");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_FALSE(world.StatusOf("cora").last_error.has_value());
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 0);
}

// The partitioner is the first process that opens the bucket, so users see its message.
TEST(FailuresTest, UnreachableBucketIsReportedAndRetried) {
  OperatorWorld world;
  bool reachable = false;
  const std::string words = "opening s3://graphs/cora: no connection to https://s3.example.com";
  world.cluster.SetProgram([&](const RunningPod& pod) -> std::optional<PodEnd> {
    if (pod.role == "partitioner" && !reachable) return Exit(74, words);
    return FakeCluster::DefaultProgram(pod);
  });
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Restarting", std::chrono::seconds(60)));
  ASSERT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").partition_attempt == 2; }, std::chrono::seconds(60)));
  const api::Status next = world.StatusOf("cora");
  EXPECT_EQ(api::FindCondition(next, api::kRestarting)->reason, "Unavailable");
  EXPECT_EQ(api::FindCondition(next, api::kRestarting)->message, words);
  ASSERT_TRUE(next.last_error.has_value());
  EXPECT_EQ(next.last_error->role, "partitioner");
  EXPECT_EQ(next.last_error->exit_code, 74);
  EXPECT_EQ(next.attempts_counted, 1);
  reachable = true;
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training", std::chrono::minutes(2)));
}

TEST(FailuresTest, ForeignObjectWithNameOfChildIsKept) {
  OperatorWorld world;
  const Json theirs = {{"apiVersion", "v1"},
                       {"kind", "Service"},
                       {"metadata", {{"name", "cora"}, {"namespace", "ml"}, {"labels", {{"app", "theirs"}}}}},
                       {"spec", {{"ports", Json::array({{{"port", 80}}})}}}};
  ASSERT_TRUE(world.server.Put(kube::kServices, theirs).ok());
  world.Create("cora");
  world.RunFor(std::chrono::seconds(60));
  const std::optional<Json> service = world.server.Find(kube::kServices, {"ml", "cora"});
  ASSERT_TRUE(service.has_value());
  EXPECT_EQ((*service)["spec"], theirs["spec"]);
  EXPECT_EQ(service->at("metadata").count("ownerReferences"), 0u);
  EXPECT_THAT(kube::Print(*world.server.Find(kube::kDistTrainings, {"ml", "cora"})), HasSubstr("NameTaken"));

  ASSERT_TRUE(world.server.Remove(kube::kServices, {"ml", "cora"}).ok());
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training"));
}

}  // namespace
}  // namespace espalier::ctl::cluster
