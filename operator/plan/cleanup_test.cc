// Tests what remains of a job that has ended, and pods that do not end by themselves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "operator/plan/reasons.h"
#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan {
namespace {

using api::Phase;
using std::chrono::seconds;
using ::testing::Contains;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Scene;

TEST(CleanUpTest, RunningKeepsEndedPodsForTheirLogs) {
  Scene scene;
  scene.Training();
  scene.TrainersDone();
  scene.Settle();
  EXPECT_EQ(scene.Pods("cora-trainer-1").size(), 2u);
  EXPECT_EQ(scene.Pods("cora-partition-1").size(), 1u);
  EXPECT_THAT(scene.Pods("cora-server-0"), IsEmpty());
}

TEST(CleanUpTest, AllDeletesEveryPodAndNoneKeepsThemAll) {
  Scene all = Scene::With({{"runPolicy", {{"cleanPodPolicy", "All"}}}});
  all.Training();
  all.TrainersDone();
  all.Settle();
  EXPECT_TRUE(all.cluster().Now().pods.empty());

  Scene none = Scene::With({{"runPolicy", {{"cleanPodPolicy", "None"}}}});
  none.Training();
  none.TrainersDone();
  none.Settle();
  EXPECT_EQ(none.cluster().Now().pods.size(), 5u);
}

// A job that exceeded its deadline must not train on, whatever the policy keeps.
TEST(CleanUpTest, NoPolicyLetsTrainersRunOn) {
  for (const char* policy : {"All", "Running", "None"}) {
    Scene scene = Scene::With({{"runPolicy", {{"cleanPodPolicy", policy}, {"activeDeadlineSeconds", 100}}}});
    scene.Training();
    scene.SettleAfter(seconds(100));
    EXPECT_EQ(scene.ReasonOf(api::kFailed), kDeadlineExceeded) << policy;
    EXPECT_THAT(scene.Pods("cora-trainer-1"), IsEmpty()) << policy;
    EXPECT_EQ(!scene.Pods("cora-server-0").empty(), policy == std::string("None")) << policy;
  }
}

// Its pods have succeeded, and the Job controller has not reported it yet.
TEST(CleanUpTest, CompletingJobIsNotDeleted) {
  const std::vector<std::function<void(Scene&)>> happenings = {
      [](Scene& scene) { scene.cluster().Pass(seconds(100)); },  // its deadline
      [](Scene& scene) { scene.Suspend(); },
      [](Scene& scene) {
        scene.Edit({{"trainers", {{"replicas", 3}}}});
      },
  };
  for (const auto& happen : happenings) {
    for (const bool by_its_pods : {false, true}) {
      Scene scene = Scene::With({{"runPolicy", {{"activeDeadlineSeconds", 100}}}});
      scene.Training();
      kube::Job* const job = scene.cluster().FindJob("cora-trainer-1");
      if (!by_its_pods) job->success_criteria_met = true;
      for (const std::string& pod : scene.Pods("cora-trainer-1")) {
        if (by_its_pods) scene.cluster().FindPod(pod)->phase = kube::PodPhase::kSucceeded;
      }
      happen(scene);
      const Plan plan = scene.NextPlan();
      EXPECT_EQ(api::FindCondition(plan.status, api::kFailed), nullptr);
      EXPECT_EQ(plan.status.incarnation, 1);
      EXPECT_THAT(Described(plan.actions), Not(Contains("delete Job cora-trainer-1")));
      job->complete = true;
      scene.Settle();
      EXPECT_EQ(scene.status().phase, Phase::kSucceeded);
    }
  }
}

TEST(CleanUpTest, ResourceIsDeletedAfterTtl) {
  Scene scene = Scene::With({{"runPolicy", {{"ttlSecondsAfterFinished", 60}}}});
  scene.Training();
  scene.TrainersDone();
  scene.Settle();
  EXPECT_EQ(scene.NextPlan().requeue_after, std::chrono::nanoseconds(seconds(60)));
  scene.cluster().Pass(seconds(59));
  EXPECT_THAT(scene.NextPlan().actions, IsEmpty());
  scene.cluster().Pass(seconds(1));
  EXPECT_THAT(Described(scene.NextPlan().actions), ElementsAre("delete self"));
}

TEST(CleanUpTest, EndedJobStaysEnded) {
  Scene scene;
  scene.Training();
  scene.TrainersDone();
  scene.Settle();
  const api::Status ended = scene.status();
  for (const char* job : {"cora-trainer-1", "cora-partition-1"}) {
    scene.cluster().DeleteChild(kube::kJobs, job, kube::Propagation::kBackground);
  }
  scene.cluster().DeleteChild(kube::kServices, "cora", kube::Propagation::kBackground);
  scene.Edit({{"trainers", {{"replicas", 3}}}});
  scene.Suspend();
  scene.Settle();
  EXPECT_EQ(scene.status().phase, Phase::kSucceeded);
  EXPECT_EQ(scene.status().incarnation, ended.incarnation);
  EXPECT_EQ(scene.status().finished_at, ended.finished_at);
  EXPECT_EQ(scene.status().observed_generation, 3);
  EXPECT_TRUE(scene.cluster().Now().jobs.empty());
}

TEST(CleanUpTest, PodOnLostNodeIsForceDeletedAfterGracePeriod) {
  Scene scene;
  scene.Training();
  const std::string trainer = scene.TrainerPod(0);
  scene.cluster().FindPod(trainer)->node = "node-of-its-own";
  scene.cluster().LoseNode("node-of-its-own");
  scene.cluster().DeletePod(trainer);  // 30 s of grace period, then 30 s of forceDeleteAfterSeconds
  scene.Act();
  scene.cluster().Pass(seconds(59));
  EXPECT_THAT(Described(scene.NextPlan().actions), Not(Contains("delete Pod " + trainer + " by force")));
  scene.cluster().Pass(seconds(1));
  EXPECT_THAT(Described(scene.NextPlan().actions), Contains("delete Pod " + trainer + " by force"));
}

// As with kubectl taint: the kubelet lets the pod save its state.
TEST(CleanUpTest, EvictedPodHasItsGracePeriod) {
  Scene scene;
  scene.Training();
  const auto evict = [&scene](const std::string& name) {
    kube::Pod* pod = scene.cluster().FindPod(name);
    pod->disruption_target = true;
    pod->disruption_reason = "DeletionByTaintManager";
    pod->disrupted_since = scene.cluster().now();
  };
  const auto ask_to_end = [&scene](const std::string& name) {
    scene.cluster().DeletePod(name);
    scene.cluster().FindPod(name)->meta.deletion_grace = seconds(300);
  };
  const auto is_forced = [&scene](const std::string& name) {
    const std::vector<std::string> actions = Described(scene.NextPlan().actions);
    return std::find(actions.begin(), actions.end(), "delete Pod " + name + " by force") != actions.end();
  };
  const std::string on_a_living_node = scene.TrainerPod(0), on_a_dead_node = scene.TrainerPod(1);
  // The Job controller ends it because another pod is being deleted, before the node is known to be lost.
  ask_to_end(on_a_dead_node);
  scene.cluster().Pass(seconds(2));
  kube::Pod* silent = scene.cluster().FindPod(on_a_dead_node);
  silent->ready = false;
  silent->ready_changed_at = scene.cluster().now();
  scene.cluster().Pass(seconds(10));
  evict(on_a_dead_node);
  evict(on_a_living_node);
  ask_to_end(on_a_living_node);
  scene.cluster().Pass(seconds(17));
  EXPECT_FALSE(is_forced(on_a_dead_node));
  scene.cluster().Pass(seconds(1));
  EXPECT_TRUE(is_forced(on_a_dead_node));
  EXPECT_FALSE(is_forced(on_a_living_node));
  // The pod itself becomes unready while it ends.
  kube::Pod* ending = scene.cluster().FindPod(on_a_living_node);
  ending->ready = false;
  ending->ready_changed_at = scene.cluster().now();
  scene.cluster().Pass(seconds(311));
  EXPECT_FALSE(is_forced(on_a_living_node));
  scene.cluster().Pass(seconds(1));
  EXPECT_TRUE(is_forced(on_a_living_node));
}

// The pod's StatefulSet was deleted with its job, and the new job's StatefulSet cannot create a pod of that name.
TEST(CleanUpTest, PodOfEarlierJobIsForceDeletedToo) {
  Scene scene;
  scene.Training();
  Observed seen = scene.cluster().Now();
  const auto is_server = [](const auto& pod) { return pod->meta.controller->name == "cora-server-0"; };
  const auto server = std::find_if(seen.pods.begin(), seen.pods.end(), is_server);
  ASSERT_NE(server, seen.pods.end());
  auto before = std::make_shared<kube::Pod>(**server);
  before->meta.uid = "uid-of-the-pod-before";
  before->meta.controller->uid = "uid-of-the-set-before";
  before->meta.created_at = scene.cluster().training().meta.created_at - seconds(1000);
  *server = before;
  const std::string forced = "delete Pod " + before->meta.key.name + " by force";
  const auto plan_at = [&](seconds after) {
    return MakePlan(scene.cluster().training(), seen, {}, scene.cluster().now() + after);
  };
  EXPECT_THAT(Described(plan_at(seconds(1000)).actions), Not(Contains(forced))) << "its deletion was not requested";
  before->meta.deletion_requested_at = scene.cluster().now();
  before->meta.deletion_grace = seconds(30);
  EXPECT_THAT(Described(plan_at(seconds(59)).actions), Not(Contains(forced)));
  EXPECT_LE(*plan_at(seconds(59)).requeue_after, std::chrono::nanoseconds(seconds(1)));
  EXPECT_THAT(Described(plan_at(seconds(60)).actions), Contains(forced));
}

}  // namespace
}  // namespace espalier::ctl::plan
