// A job's life when nothing goes wrong, and when people change their minds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/resources/labels.h"
#include "operator/testing/operator_world.h"

namespace espalier::ctl::cluster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

using kube::Json;

// Trainers end well once `done` is set.
FakeCluster::Program TrainersEndWhen(const bool& done) {
  return [&done](const RunningPod& pod) -> std::optional<PodEnd> {
    if (pod.role == "trainer" && done) return Exit(0, "trained");
    return FakeCluster::DefaultProgram(pod);
  };
}

std::vector<std::string> PodsOfRole(const OperatorWorld& world, const std::string& role) {
  std::vector<std::string> names;
  for (const Json& pod : world.server.All(kube::kPods)) {
    if (kube::StringAt(pod, {"metadata", "labels", resources::kComponentLabel}) == role) {
      names.push_back(kube::StringAt(pod, {"metadata", "name"}));
    }
  }
  return names;
}

TEST(JobLifeTest, RunsFromCreationToSuccess) {
  OperatorWorld world;
  bool done = false;
  world.cluster.SetProgram(TrainersEndWhen(done));
  world.Create("cora", {{"trainers", {{"replicas", 2}}}, {"graph", {{"partitions", {{"count", 2}}}}}});

  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_EQ(world.StatusOf("cora").partition->hash, "0f3a9c");
  EXPECT_EQ(world.StatusOf("cora").incarnation, 1);
  EXPECT_THAT(PodsOfRole(world, "server"), ElementsAre("cora-server-0-0", "cora-server-0-1"));
  EXPECT_EQ(PodsOfRole(world, "trainer").size(), 2u);
  EXPECT_THAT(
      world.Children(),
      UnorderedElementsAre("Job cora-partition-1", "Job cora-trainer-1", "StatefulSet cora-server-0", "Service cora",
                           "ConfigMap cora-config", "ConfigMap cora-config-1", "ServiceAccount cora-job",
                           "PodDisruptionBudget cora-server", "NetworkPolicy cora-job", "Secret cora-ca",
                           "Secret cora-tls-server", "Secret cora-tls-trainer"));

  done = true;
  ASSERT_TRUE(world.RunUntilPhase("cora", "Succeeded"));
  EXPECT_TRUE(api::IsTrue(world.StatusOf("cora"), api::kSucceeded));
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 0);
}

TEST(JobLifeTest, APodMayHaveSeveralServers) {
  OperatorWorld world;
  bool done = false;
  world.cluster.SetProgram(TrainersEndWhen(done));
  world.Create("cora", {{"servers", {{"containersPerPod", 3}}}, {"graph", {{"partitions", {{"count", 2}}}}}});

  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_THAT(PodsOfRole(world, "server"), ElementsAre("cora-server-0-0", "cora-server-0-1"));
  for (const Json& pod : world.server.All(kube::kPods)) {
    const bool is_server = kube::StringAt(pod, {"metadata", "labels", resources::kComponentLabel}) == "server";
    EXPECT_EQ(kube::ListAt(pod, {"spec", "containers"}).size(), is_server ? 3u : 1u);
  }
  EXPECT_EQ(world.StatusOf("cora").replicas.at("server"), (api::ReplicaStatus{.wanted = 2, .ready = 2, .failed = 0}));

  done = true;
  EXPECT_TRUE(world.RunUntilPhase("cora", "Succeeded"));
}

TEST(JobLifeTest, APodMayHaveSeveralTrainers) {
  OperatorWorld world;
  bool done = false;
  world.cluster.SetProgram(TrainersEndWhen(done));
  world.Create("cora", {{"trainers", {{"replicas", 6}, {"containersPerPod", 3}}}});

  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_EQ(PodsOfRole(world, "trainer").size(), 2u);
  for (const Json& pod : world.server.All(kube::kPods)) {
    const bool is_trainer = kube::StringAt(pod, {"metadata", "labels", resources::kComponentLabel}) == "trainer";
    EXPECT_EQ(kube::ListAt(pod, {"spec", "containers"}).size(), is_trainer ? 3u : 1u);
  }
  EXPECT_EQ(world.StatusOf("cora").trainer_replicas, 6);
  EXPECT_EQ(world.StatusOf("cora").replicas.at("trainer"), (api::ReplicaStatus{.wanted = 2, .ready = 2, .failed = 0}));

  done = true;
  EXPECT_TRUE(world.RunUntilPhase("cora", "Succeeded"));
}

TEST(JobLifeTest, SucceedsWithFinalProgress) {
  for (const char* const policy : {"Running", "All"}) {
    OperatorWorld world;
    bool done = false;
    world.cluster.SetProgram([&](const RunningPod& pod) -> std::optional<PodEnd> {
      if (pod.role != "trainer" || !done) return FakeCluster::DefaultProgram(pod);
      return PodEnd{.message = R"({"reason": "Done", "exitCode": 0, "message": "trained",
                                   "metrics": {"epochs": 50, "testAccuracy": 0.81, "parametersDigest": "9f"}})"};
    });
    world.Create("cora", {{"runPolicy", {{"cleanPodPolicy", policy}}}});
    ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
    done = true;
    ASSERT_TRUE(world.RunUntilPhase("cora", "Succeeded"));
    world.Settle();
    const std::optional<api::Progress> progress = world.StatusOf("cora").progress;
    ASSERT_TRUE(progress.has_value()) << policy;
    EXPECT_EQ(progress->epoch, 50);
    EXPECT_EQ(progress->percent, 100);
    EXPECT_EQ(progress->metrics, (std::map<std::string, double>{{"testAccuracy", 0.81}}));
    EXPECT_TRUE(api::IsTrue(world.StatusOf("cora"), api::kSucceeded)) << "the other writer's part stays";
  }
}

// One question where there are none yet, and none about what has just been made.
TEST(JobLifeTest, RequestsCertificatesOnce) {
  OperatorWorld world;
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  int gets = 0;
  for (const auto& request : world.server.log()) {
    gets += request.method == "GET" && request.target.find("/secrets/") != std::string::npos;
  }
  EXPECT_EQ(gets, 1);
}

TEST(JobLifeTest, StartsInOrder) {
  OperatorWorld world;
  world.cluster.HoldBack("partitioner");
  world.Create("cora");
  world.RunFor(std::chrono::seconds(60));
  EXPECT_THAT(world.Names(kube::kJobs), ElementsAre("cora-partition-1"));
  EXPECT_EQ(world.PhaseOf("cora"), "Partitioning");
  EXPECT_THAT(PodsOfRole(world, "trainer"), IsEmpty());

  world.cluster.Release("partitioner");
  world.cluster.HoldBack("server");
  world.RunFor(std::chrono::seconds(60));
  EXPECT_EQ(world.PhaseOf("cora"), "Starting");
  EXPECT_THAT(world.Names(kube::kStatefulSets), ElementsAre("cora-server-0"));
  EXPECT_THAT(world.Names(kube::kJobs), Not(Contains("cora-trainer-1")));  // before the servers are ready

  world.cluster.Release("server");
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training"));
}

TEST(JobLifeTest, SettledJobSendsNoRequests) {
  OperatorWorld world;
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  world.Settle();

  const int64_t before = world.op->transport().num_calls();
  EXPECT_FALSE(world.op->ReconcileAll().did_something);
  EXPECT_EQ(world.op->transport().num_calls(), before);
}

TEST(JobLifeTest, DeletedJobDeletesChildren) {
  OperatorWorld world;
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));

  ASSERT_TRUE(world.server.Remove(kube::kDistTrainings, {"ml", "cora"}).ok());
  ASSERT_TRUE(world.RunUntil([&] { return world.Children().empty() && world.Names(kube::kPods).empty(); }));
  world.Settle();
  EXPECT_THAT(world.Children(), IsEmpty());
}

TEST(JobLifeTest, DeletedChildIsRecreated) {
  OperatorWorld world;
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  const std::vector<std::string> before = world.Children();

  ASSERT_TRUE(world.server.Remove(kube::kServices, {"ml", "cora"}).ok());
  ASSERT_TRUE(world.server.Remove(kube::kPodDisruptionBudgets, {"ml", "cora-server"}).ok());
  world.Settle();
  EXPECT_EQ(world.Children(), before);
}

TEST(JobLifeTest, SuspendDeletesPodsAndResumeStartsIncarnation) {
  OperatorWorld world;
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));

  world.Edit("cora", {{"runPolicy", {{"suspend", true}}}});
  ASSERT_TRUE(world.RunUntilPhase("cora", "Suspended"));
  EXPECT_THAT(world.Names(kube::kPods), IsEmpty());
  EXPECT_TRUE(api::IsTrue(world.StatusOf("cora"), api::kSuspended));

  world.Edit("cora", {{"runPolicy", {{"suspend", false}}}});
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_EQ(world.StatusOf("cora").incarnation, 2);
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 0);
  EXPECT_THAT(world.Names(kube::kJobs), Contains("cora-trainer-2"));
}

TEST(JobLifeTest, AJobThatIsCreatedSuspendedMakesNoPods) {
  OperatorWorld world;
  world.Create("cora", {{"runPolicy", {{"suspend", true}}}});
  ASSERT_TRUE(world.RunUntilPhase("cora", "Suspended"));
  world.Settle();
  EXPECT_THAT(world.Names(kube::kJobs), IsEmpty());
  EXPECT_THAT(world.Names(kube::kPods), IsEmpty());
}

TEST(JobLifeTest, ScalingReplacesTheGroupAndIsNotCounted) {
  OperatorWorld world;
  world.Create("cora", {{"trainers", {{"replicas", 1}, {"maxReplicas", 4}}}});
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));

  world.Edit("cora", {{"trainers", {{"replicas", 3}}}});
  ASSERT_TRUE(
      world.RunUntil([&] { return world.StatusOf("cora").incarnation == 2 && world.PhaseOf("cora") == "Training"; }));
  EXPECT_EQ(PodsOfRole(world, "trainer").size(), 3u);
  EXPECT_EQ(world.StatusOf("cora").trainer_replicas, 3);
  EXPECT_EQ(world.StatusOf("cora").attempts_counted, 0);
}

TEST(JobLifeTest, TtlDeletesTheJobAndNotBefore) {
  OperatorWorld world;
  const bool done = true;
  world.cluster.SetProgram(TrainersEndWhen(done));
  world.Create("cora", {{"runPolicy", {{"ttlSecondsAfterFinished", 600}}}});
  ASSERT_TRUE(world.RunUntilPhase("cora", "Succeeded"));

  world.RunFor(std::chrono::seconds(590));
  EXPECT_TRUE(world.Exists("cora"));
  EXPECT_TRUE(world.RunUntil([&] { return !world.Exists("cora"); }, std::chrono::seconds(30)));
  world.Settle();
  EXPECT_THAT(world.Children(), IsEmpty());
}

TEST(JobLifeTest, TheDeadlineFailsAJobThatIsStillActive) {
  OperatorWorld world;
  world.Create("cora", {{"runPolicy", {{"activeDeadlineSeconds", 300}}}});
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_FALSE(world.RunUntilPhase("cora", "Failed", std::chrono::seconds(290)));
  ASSERT_TRUE(world.RunUntilPhase("cora", "Failed", std::chrono::seconds(30)));
  EXPECT_EQ(api::FindCondition(world.StatusOf("cora"), api::kFailed)->reason, "DeadlineExceeded");
}

struct CleanPodPolicyCase {
  const char* policy;
  bool keeps_ended_jobs;
  bool keeps_servers;
};
class CleanPodPolicyTest : public ::testing::TestWithParam<CleanPodPolicyCase> {};

TEST_P(CleanPodPolicyTest, KeepsPodsByPolicy) {
  OperatorWorld world;
  const bool done = true;
  world.cluster.SetProgram(TrainersEndWhen(done));
  world.Create("cora", {{"runPolicy", {{"cleanPodPolicy", GetParam().policy}}}});
  ASSERT_TRUE(world.RunUntilPhase("cora", "Succeeded"));
  world.RunFor(std::chrono::seconds(60));
  EXPECT_EQ(!PodsOfRole(world, "trainer").empty(), GetParam().keeps_ended_jobs);
  EXPECT_EQ(!PodsOfRole(world, "server").empty(), GetParam().keeps_servers);
}

INSTANTIATE_TEST_SUITE_P(Policies, CleanPodPolicyTest,
                         ::testing::Values(CleanPodPolicyCase{"All", false, false},
                                           CleanPodPolicyCase{"Running", true, false},
                                           CleanPodPolicyCase{"None", true, true}),
                         [](const auto& one) { return std::string(one.param.policy); });

}  // namespace
}  // namespace espalier::ctl::cluster
