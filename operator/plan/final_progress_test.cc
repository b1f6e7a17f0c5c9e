// Tests that the termination message of rank 0 becomes the progress of a job that has succeeded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::Described;
using ::testing::ElementsAre;
using testing::Ending;
using ::testing::Not;
using testing::Scene;
using ::testing::UnorderedElementsAre;

Ending Trained(double loss) {
  return {.exit_code = 0,
          .message = R"({"reason": "Done", "exitCode": 0, "message": "trained", "metrics": {"epochs": 41,
            "bestEpoch": 20, "parametersDigest": "9f", "loss": )" +
                     std::to_string(loss) + R"(, "testAccuracy": 0.81}})"};
}

void TrainersEnd(Scene& scene) {
  scene.cluster().EndPod(scene.TrainerPod(1), Trained(7));
  scene.cluster().EndPod(scene.TrainerPod(0), Trained(0.5));
}

TEST(FinalProgressTest, IsThatOfRankZero) {
  Scene scene;
  scene.Training();
  TrainersEnd(scene);
  scene.Settle();
  ASSERT_TRUE(scene.status().progress.has_value());
  EXPECT_EQ(scene.status().progress->epoch, 41);
  EXPECT_EQ(scene.status().progress->percent, 100);
  EXPECT_FALSE(scene.status().progress->eta_seconds.has_value());
  EXPECT_EQ(scene.status().progress->metrics,
            (std::map<std::string, double>{{"bestEpoch", 20}, {"loss", 0.5}, {"testAccuracy", 0.81}}));
}

TEST(FinalProgressTest, IsWrittenBeforePodsAreDeleted) {
  Scene scene = Scene::With({{"runPolicy", {{"cleanPodPolicy", "All"}}}});
  scene.Training();
  TrainersEnd(scene);
  scene.cluster().RunAll();
  const std::vector<std::string> actions = Described(scene.NextPlan().actions);
  EXPECT_EQ(actions.front(), "write progress");
  EXPECT_THAT(actions, Contains("delete Job cora-trainer-1"));
  scene.Settle();
  EXPECT_TRUE(scene.cluster().Now().pods.empty());
  EXPECT_EQ(scene.status().progress->epoch, 41);
}

TEST(FinalProgressTest, WarningsOfTheFirstTrainerBecomeOneEvent) {
  Scene scene;
  scene.Training();
  Ending ending = Trained(0.5);
  const std::string words = "trained with warnings: no validation node has a label";
  ending.message.replace(ending.message.find("trained"), std::string("trained").size(), words);
  scene.cluster().EndPod(scene.TrainerPod(1), Trained(7));
  scene.cluster().EndPod(scene.TrainerPod(0), ending);
  scene.cluster().RunAll();
  const Plan plan = scene.NextPlan();
  EXPECT_THAT(Described(plan.events), UnorderedElementsAre("Normal Succeeded", "Warning TrainedWithWarnings"));
  EXPECT_EQ(plan.events.front().note, words);
  scene.Settle();
  EXPECT_THAT(Described(scene.NextPlan().events), ElementsAre()) << "once";
}

// Two caches: the cache of pods may be behind the cache of Jobs.
TEST(FinalProgressTest, IsAwaitedWhileCacheShowsRunningPod) {
  Scene scene = Scene::With({{"runPolicy", {{"cleanPodPolicy", "All"}}}});
  scene.Training();
  TrainersEnd(scene);
  scene.cluster().RunAll();
  kube::Pod* pod = scene.cluster().FindPod(scene.TrainerPod(0));
  const kube::Pod ended = *pod;
  pod->phase = kube::PodPhase::kRunning;
  pod->containers.front().ended.reset();
  const Plan early = scene.NextPlan();
  EXPECT_EQ(early.status.phase, api::Phase::kSucceeded);
  EXPECT_THAT(Described(early.actions),
              AllOf(Contains("delete StatefulSet cora-server-0"), Not(Contains("delete Job cora-trainer-1")),
                    Not(Contains("write progress"))));
  *pod = ended;
  scene.Settle();
  EXPECT_EQ(scene.status().progress->epoch, 41);
  EXPECT_TRUE(scene.cluster().Now().pods.empty());
}

TEST(FinalProgressTest, IsNotAwaitedAfterPodIsGone) {
  Scene scene = Scene::With({{"runPolicy", {{"cleanPodPolicy", "All"}}}});
  scene.Training();
  TrainersEnd(scene);
  scene.cluster().RunAll();
  scene.cluster().DeletePod(scene.TrainerPod(0));
  scene.cluster().RunAll();
  ASSERT_EQ(scene.TrainerPod(0), "");
  EXPECT_THAT(Described(scene.NextPlan().actions), Contains("delete Job cora-trainer-1"));
}

TEST(FinalProgressTest, ReplacesLatePoll) {
  Scene scene;
  scene.Training();
  TrainersEnd(scene);
  scene.Settle();
  ASSERT_TRUE(scene.cluster().Do(WriteProgress{{.epoch = 40, .percent = 99}}).ok());
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("write progress"));
}

TEST(FinalProgressTest, TrainerWithoutProgressKeepsIt) {
  Scene scene;
  scene.Training();
  scene.TrainersDone();  // without a termination message
  scene.Settle();
  EXPECT_EQ(scene.status().phase, api::Phase::kSucceeded);
  EXPECT_FALSE(scene.status().progress.has_value());
}

TEST(FinalProgressTest, StoppedGroupHasNone) {
  Scene scene;
  scene.Training();
  Ending stopped = Trained(0.5);
  stopped.exit_code = 75;
  scene.cluster().EndPod(scene.TrainerPod(0), stopped);
  scene.cluster().RunAll();
  EXPECT_THAT(Described(scene.NextPlan().actions), Not(Contains("write progress")));
}

}  // namespace
}  // namespace espalier::ctl::plan
