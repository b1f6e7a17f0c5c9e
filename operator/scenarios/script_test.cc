// A job whose program is a script in object storage that is overwritten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/program_container.h"
#include "operator/testing/operator_world.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;
using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kFirst(64, 'a');
const std::string kSecond(64, 'b');

Json ScriptSpec(const Json& more = Json::object()) {
  Json script = {{"uri", "s3://code/train.py"}};
  script.update(more);
  return {{"trainers", {{"replicas", 2}, {"program", {{"script", script}}}}}};
}

// Rank 0 of the first group ends with 70 once `*crashes`.
FakeCluster::Program Crashing(const bool* crashes) {
  return [crashes](const RunningPod& pod) -> std::optional<PodEnd> {
    if (*crashes && pod.role == "trainer" && pod.index == 0 && pod.incarnation == 1) return Exit(70, "a bug");
    return FakeCluster::DefaultProgram(pod);
  };
}

// What each trainer's pod that is there compares its script with.
std::vector<std::string> DigestsOfTrainers(const OperatorWorld& world) {
  std::vector<std::string> digests;
  for (const Json& job : world.server.All(kube::kJobs)) {
    if (!kube::StringAt(job, {"metadata", "name"}).starts_with("cora-trainer-")) continue;
    for (const Json& container : kube::ListAt(job, {"spec", "template", "spec", "initContainers"})) {
      const Json& words = container["args"];
      const auto flag = std::find(words.begin(), words.end(), "--sha256");
      digests.push_back(flag == words.end() ? "" : std::next(flag)->get<std::string>());
    }
  }
  return digests;
}

TEST(ScriptScenarioTest, FirstPodDeterminesScript) {
  OperatorWorld world;
  bool crashes = false;
  world.cluster.SetProgram(Crashing(&crashes));
  world.cluster.SetScript(kFirst);
  world.Create("cora", ScriptSpec());
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  const api::Status status = world.StatusOf("cora");
  ASSERT_TRUE(status.script.has_value());
  EXPECT_EQ(status.script->sha256, kFirst);
  EXPECT_EQ(status.script->source, "s3://code/train.py");
  EXPECT_EQ(status.images.at(api::kScriptContainer), status.images.at("partitioner"));
  EXPECT_THAT(DigestsOfTrainers(world), ::testing::ElementsAre(kFirst));

  crashes = true;
  ASSERT_TRUE(
      world.RunUntil([&] { return world.StatusOf("cora").incarnation == 2 && world.PhaseOf("cora") == "Training"; }));
  EXPECT_THAT(DigestsOfTrainers(world), Contains(kFirst));
  EXPECT_EQ(world.StatusOf("cora").script->sha256, kFirst);
}

TEST(ScriptScenarioTest, ChangedScriptIsRefusedUntilRestored) {
  OperatorWorld world;
  bool crashes = false;
  world.cluster.SetProgram(Crashing(&crashes));
  world.cluster.SetScript(kFirst);
  world.Create("cora", ScriptSpec());
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));

  world.cluster.SetScript(kSecond);
  crashes = true;
  ASSERT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").restart_reason == "ScriptChanged"; }));
  const api::Status status = world.StatusOf("cora");
  const api::Condition* const restarting = api::FindCondition(status, api::kRestarting);
  ASSERT_NE(restarting, nullptr);
  EXPECT_EQ(restarting->reason, "ScriptChanged");
  EXPECT_THAT(restarting->message, HasSubstr("container script: "));
  EXPECT_THAT(restarting->message, HasSubstr(kFirst));
  EXPECT_THAT(restarting->message, HasSubstr(kSecond));
  EXPECT_EQ(status.script->sha256, kFirst);
  EXPECT_EQ(status.attempts_counted, 2);  // the crash, and the pod that found another script

  world.cluster.SetScript(kFirst);
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training", std::chrono::minutes(30)));
  EXPECT_GE(world.StatusOf("cora").incarnation, 3);
}

TEST(ScriptScenarioTest, ScriptThatStaysChangedFailsJob) {
  OperatorWorld world;
  world.cluster.SetScript(kSecond);
  Json spec = ScriptSpec({{"sha256", kFirst}});
  spec["runPolicy"] = {{"backoffLimit", 1}};
  world.Create("cora", spec);
  ASSERT_TRUE(world.RunUntilPhase("cora", "Failed", std::chrono::minutes(60)));
  const api::Status status = world.StatusOf("cora");
  EXPECT_EQ(status.script->sha256, kFirst);  // the document's, from the beginning
  EXPECT_EQ(status.incarnation, 0);          // nothing has run
  EXPECT_EQ(api::FindCondition(status, api::kFailed)->reason, "BackoffLimitExceeded");
  EXPECT_THAT(api::FindCondition(status, api::kFailed)->message, HasSubstr("ScriptChanged"));
  EXPECT_THAT(api::FindCondition(status, api::kFailed)->message, HasSubstr(kSecond));
  EXPECT_EQ(status.last_error->role, "partitioner");
}

TEST(ScriptScenarioTest, DigestSurvivesOperatorRestart) {
  OperatorWorld world;
  bool crashes = false;
  world.cluster.SetProgram(Crashing(&crashes));
  world.Create("cora", ScriptSpec());
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  world.cluster.SetScript(kSecond);
  world.RestartOperator();
  crashes = true;
  ASSERT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").restart_reason == "ScriptChanged"; }));
  EXPECT_EQ(world.StatusOf("cora").script->sha256, kFirst);
}

}  // namespace
}  // namespace espalier::ctl::cluster
