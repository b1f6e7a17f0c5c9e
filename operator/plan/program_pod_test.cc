#include "operator/plan/program_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/failure.h"
#include "operator/plan/reasons.h"
#include "operator/plan/testing/scene.h"
#include "operator/resources/labels.h"
#include "services/base/exit_code.h"

namespace espalier::ctl::plan {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using testing::Described;
using testing::Ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PartitionEnding;
using testing::Scene;

const kube::WallTime kEndOfPrograms{std::chrono::hours(12)};

kube::ContainerState RunningContainer(const std::string& name) { return {.name = name, .ready = true}; }
kube::ContainerState EndedContainer(const std::string& name, int exit_code) {
  return {.name = name,
          .ended = kube::ContainerEnd{.exit_code = exit_code, .signal = 0, .finished_at = kEndOfPrograms}};
}

kube::Pod PodOfContainers(std::vector<kube::ContainerState> containers, const std::string& role = "trainer") {
  kube::Pod pod;
  pod.meta.key.name = "p";
  pod.meta.labels[resources::kComponentLabel] = role;
  pod.phase = kube::PodPhase::kRunning;
  pod.containers = std::move(containers);
  return pod;
}

TEST(ProgramPodTest, OtherContainersDoNotDecideWhetherTheProgramHasEnded) {
  const kube::Pod runs =
      PodOfContainers({EndedContainer("istio-init", 0), RunningContainer("istio-proxy"), RunningContainer("trainer")});
  EXPECT_FALSE(ProgramHasEnded(runs) || ProgramHasSucceeded(runs) || IsHeld(runs));
  const kube::Pod lost_its_sidecar = PodOfContainers({EndedContainer("istio-proxy", 1), RunningContainer("trainer")});
  EXPECT_FALSE(ProgramHasEnded(lost_its_sidecar) || IsHeld(lost_its_sidecar));
  const kube::Pod failed = PodOfContainers({RunningContainer("istio-proxy"), EndedContainer("trainer", 74)});
  EXPECT_TRUE(ProgramHasEnded(failed) && IsHeld(failed));
  EXPECT_FALSE(ProgramHasSucceeded(failed));
  const kube::Pod succeeded = PodOfContainers({EndedContainer("trainer", 0), RunningContainer("zipkin")});
  EXPECT_TRUE(ProgramHasEnded(succeeded) && ProgramHasSucceeded(succeeded) && IsHeld(succeeded));
}

TEST(ProgramPodTest, EndedPodIsNotHeld) {
  EXPECT_FALSE(IsHeld(
      PodOfContainers({EndedContainer("istio-proxy", 0), EndedContainer("trainer", 0)})));  // the phase follows later
  kube::Pod pod = PodOfContainers({EndedContainer("istio-proxy", 1), EndedContainer("trainer", 0)});
  pod.phase = kube::PodPhase::kFailed;
  EXPECT_FALSE(IsHeld(pod));
  EXPECT_TRUE(ProgramHasSucceeded(pod));
}

TEST(ProgramPodTest, EachServerOfPodIsProgram) {
  EXPECT_FALSE(ProgramHasEnded(PodOfContainers({EndedContainer("server", 0), RunningContainer("server-1")}, "server")));
  kube::Pod pod = PodOfContainers({RunningContainer("server"), {.name = "server-1"}}, "server");
  EXPECT_FALSE(ProgramIsReady(pod));
  pod.containers[1].ready = pod.ready = true;
  EXPECT_TRUE(ProgramIsReady(pod));
}

TEST(ProgramPodTest, TheProgramIsReadyBesideASidecarThatIsNot) {
  kube::Pod pod = PodOfContainers({{.name = "istio-proxy"}, RunningContainer("server")}, "server");
  EXPECT_TRUE(ProgramIsReady(pod));  // although the pod is not Ready
  pod.containers[0].ready = true;
  EXPECT_FALSE(ProgramIsReady(pod));  // a lost node: containers keep their last reported state
  pod.ready = true;
  EXPECT_TRUE(ProgramIsReady(pod));
  pod.containers[1].ready = false;
  EXPECT_FALSE(ProgramIsReady(pod));
  EXPECT_FALSE(ProgramIsReady(PodOfContainers({})));
}

TEST(ProgramPodTest, APodIsReadyWhileOneOfItsTrainersRunsAndTheOthersHaveSucceeded) {
  EXPECT_TRUE(ProgramIsReady(PodOfContainers({RunningContainer("trainer"), EndedContainer("trainer-1", 0)})));
  EXPECT_FALSE(ProgramIsReady(PodOfContainers({EndedContainer("trainer", 0), EndedContainer("trainer-1", 0)})));
  EXPECT_FALSE(ProgramIsReady(PodOfContainers({RunningContainer("trainer"), EndedContainer("trainer-1", 1)})));
}

TEST(ProgramPodTest, OneFailedTrainerFailsItsPodWhileOthersRun) {
  const kube::Pod pod = PodOfContainers({RunningContainer("trainer"), EndedContainer("trainer-1", 65)});
  EXPECT_TRUE(HasPartlyFailed(pod));
  const kube::Job job;
  EXPECT_TRUE(IsFailing({.job = &job, .pods = {&pod}}));
  const std::optional<Failure> failure = FindFailure(pod);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code, 65);
  EXPECT_EQ(failure->message, "container trainer-1: ended with exit code 65");
  EXPECT_FALSE(HasPartlyFailed(PodOfContainers({EndedContainer("trainer", 74), EndedContainer("trainer-1", 65)})));
  EXPECT_FALSE(HasPartlyFailed(PodOfContainers({RunningContainer("trainer"), EndedContainer("trainer-1", 0)})));
  // The containers of servers are restarted.
  EXPECT_FALSE(HasPartlyFailed(PodOfContainers({RunningContainer("server"), EndedContainer("server-1", 1)}, "server")));
}

TEST(ProgramPodTest, AJobDoesNotWaitForTrainersBesideAFailedOne) {
  for (const int exit_code : {65, 137}) {
    Scene scene = Scene::With({{"trainers", {{"replicas", 2}, {"containersPerPod", 2}}}});
    scene.Training();
    scene.cluster().FindPod(scene.TrainerPod(0))->containers.push_back(EndedContainer("trainer-1", exit_code));
    scene.Settle();
    scene.SettleAfter(seconds(4));  // causes are collected
    scene.SettleWithin(testing::kSoon);
    EXPECT_EQ(scene.status().phase, exit_code == 65 ? api::Phase::kFailed : api::Phase::kTraining);
    EXPECT_EQ(scene.status().incarnation, exit_code == 65 ? 1 : 2);
  }
}

TEST(ProgramPodTest, CompletedIndexesAreCountedOnce) {
  kube::Job job;
  job.completions = 3;
  std::vector<kube::Pod> pods;
  for (const char* index : {"0", "1", "2"}) {
    pods.push_back(PodOfContainers({RunningContainer("istio-proxy"), EndedContainer("trainer", 0)}));
    pods.back().meta.labels[resources::kCompletionIndexLabel] = index;
  }
  JobRun run{.job = &job, .pods = {&pods[0], &pods[1]}};
  EXPECT_EQ(CountSucceeded(run), 2);
  job.succeeded = 1;
  job.completed_indexes = "0";
  EXPECT_EQ(CountSucceeded(run), 2);
  run.pods = {&pods[1], &pods[2]};  // the pod of index 0 is gone
  EXPECT_EQ(CountSucceeded(run), 3);
  EXPECT_TRUE(HasSucceededDespiteOthers(run));
  job.completions = 4;
  EXPECT_FALSE(HasSucceededDespiteOthers(run));
}

TEST(ProgramPodTest, ExitAfterDeletionIsNoSuccess) {
  kube::Job job;
  job.completions = 1;
  kube::Pod pod = PodOfContainers({RunningContainer("istio-proxy"), EndedContainer("trainer", 0)});
  const JobRun run{.job = &job, .pods = {&pod}};
  pod.meta.deletion_requested_at = kEndOfPrograms + seconds(1);
  EXPECT_TRUE(HasSucceededDespiteOthers(run));
  pod.meta.deletion_requested_at = kEndOfPrograms;  // the end may be a reaction to SIGTERM
  EXPECT_FALSE(HasSucceededDespiteOthers(run));
}

// A simulated cluster in which an admission webhook adds a container that never ends to each pod.
class HeldPodsTest : public ::testing::Test {
 protected:
  explicit HeldPodsTest(Scene scene = Scene()) : scene_(std::move(scene)) {
    scene_.cluster().InjectSidecar({.name = "istio-proxy"});
  }
  Scene scene_;
};

TEST_F(HeldPodsTest, JobSucceedsWithItsPrograms) {
  scene_.Training();
  scene_.TrainerPodEnded(0, 0);
  scene_.Settle();
  EXPECT_EQ(scene_.status().phase, api::Phase::kTraining);
  scene_.TrainerPodEnded(1, 0);
  const std::string pod = scene_.TrainerPod(0);
  scene_.Settle();
  EXPECT_EQ(scene_.status().phase, api::Phase::kSucceeded);
  EXPECT_EQ(scene_.status().attempts_counted, 0);
  EXPECT_EQ(scene_.ConditionOf(api::kTrainersReady), api::ConditionStatus::kFalse);
  EXPECT_THAT(scene_.MessageOf(api::kTrainersReady), HasSubstr("container istio-proxy holds pod " + pod));
  EXPECT_FALSE(scene_.cluster().FindJob("cora-trainer-1")->meta.deletion_requested_at);  // it may end by itself

  scene_.SettleAfter(kHeldPodGrace);
  EXPECT_THAT(scene_.Pods("cora-trainer-1"), IsEmpty());
  EXPECT_EQ(scene_.cluster().FindJob("cora-trainer-1"), nullptr);
  EXPECT_EQ(scene_.status().phase, api::Phase::kSucceeded);
  EXPECT_EQ(scene_.MessageOf(api::kTrainersReady), "the job has ended");
}

TEST_F(HeldPodsTest, ASidecarThatEndsByItselfKeepsThePodsOfTheJob) {
  scene_.Training();
  scene_.TrainersDone();
  scene_.Settle();
  for (const std::string& pod : scene_.Pods("cora-trainer-1")) scene_.cluster().EndSidecar(pod, 0);
  scene_.SettleAfter(kHeldPodGrace + seconds(1));
  EXPECT_EQ(scene_.Pods("cora-trainer-1").size(), 2u);
  EXPECT_TRUE(scene_.cluster().FindJob("cora-trainer-1")->complete);
}

TEST_F(HeldPodsTest, ASidecarThatFailsAfterTheProgramDoesNotFailTheJob) {
  scene_.Training();
  scene_.TrainersDone();
  for (const std::string& pod : scene_.Pods("cora-trainer-1")) scene_.cluster().EndSidecar(pod, 1);
  scene_.Settle();
  EXPECT_EQ(scene_.status().phase, api::Phase::kSucceeded);
}

// The Job controller ends the other trainers, whose programs have not finished. The restart is counted, so that it does
// not repeat forever.
TEST_F(HeldPodsTest, ASidecarsExitCodeThatFailsTheJobBeforeAllHaveSucceededIsCounted) {
  scene_.Training();
  scene_.TrainerPodEnded(0, 0);
  scene_.cluster().EndSidecar(scene_.TrainerPod(0), 3);
  scene_.SettleWithin(seconds(20));
  EXPECT_EQ(scene_.restart_reason(), kSidecarFailed);
  EXPECT_EQ(scene_.status().attempts_counted, 1);
  EXPECT_THAT(scene_.status().last_error->message, HasSubstr("container istio-proxy ended with exit code 3"));
}

TEST_F(HeldPodsTest, AKilledTrainerIsRestarted) {
  scene_.Training();
  const std::string killed = scene_.TrainerPod(0);
  scene_.cluster().Kill(killed);
  scene_.Settle();
  EXPECT_EQ(scene_.status().phase, api::Phase::kRestarting);
  EXPECT_EQ(scene_.ReasonOf(api::kTrainersReady), kHeldByContainers);
  EXPECT_THAT(scene_.MessageOf(api::kTrainersReady), HasSubstr("container istio-proxy holds pod " + killed));
  scene_.SettleAfter(seconds(4));
  EXPECT_EQ(scene_.restart_reason(), kSignal);
  EXPECT_EQ(scene_.status().last_error->pod, killed);
  scene_.SettleWithin(testing::kSoon);
  EXPECT_EQ(scene_.status().incarnation, 2);
  EXPECT_EQ(scene_.status().attempts_counted, 1);
  EXPECT_EQ(scene_.status().phase, api::Phase::kTraining);
}

// A peer that has not noticed keeps running, and the Job controller sees no failed pod. The failure is in the status
// before its pod is deleted, which makes the Job fail.
TEST_F(HeldPodsTest, PeersAreStoppedIfFailureIsConsequence) {
  scene_.Training();
  scene_.TrainerPodEnded(1, 74);
  const std::string pod = scene_.TrainerPod(1);
  scene_.Settle();
  EXPECT_THAT(scene_.MessageOf(api::kRestarting), HasSubstr("seen so far: Unavailable"));
  EXPECT_FALSE(scene_.cluster().FindJob("cora-trainer-1")->failure_target);
  scene_.cluster().Pass(seconds(4));
  EXPECT_THAT(Described(scene_.Act().actions), Contains("delete Pod " + pod));
  EXPECT_TRUE(scene_.cluster().FindJob("cora-trainer-1")->failure_target);
  scene_.SettleWithin(testing::kSoon);
  EXPECT_EQ(scene_.status().incarnation, 2);
  EXPECT_EQ(scene_.status().attempts_counted, 1);
  EXPECT_EQ(scene_.status().phase, api::Phase::kTraining);
}

TEST_F(HeldPodsTest, BadInputFailsTheJobAtOnce) {
  scene_.Training();
  scene_.TrainerPodEnded(0, static_cast<int>(ExitCode::kBadInput));
  scene_.Settle();
  EXPECT_EQ(scene_.status().phase, api::Phase::kFailed);
  EXPECT_EQ(scene_.ReasonOf(api::kFailed), "BadInput");
}

TEST_F(HeldPodsTest, SidecarHasItsOwnGracePeriod) {
  scene_.cluster().InjectSidecar({.name = "istio-proxy", .ignores_sigterm = true});
  scene_.cluster().set_grace(seconds(300));
  scene_.Training();
  scene_.cluster().Kill(scene_.TrainerPod(0));
  scene_.cluster().Kill(scene_.TrainerPod(1));
  scene_.SettleAfter(seconds(4));
  EXPECT_EQ(scene_.status().incarnation, 2);
  scene_.SettleAfter(seconds(11));  // after the backoff
  EXPECT_EQ(scene_.ReasonOf(api::kTrainersReady), kOldPodsRemain);
  EXPECT_THAT(scene_.MessageOf(api::kTrainersReady), HasSubstr("container istio-proxy holds pod cora-trainer-1-"));
  scene_.SettleAfter(kHeldPodGrace);
  EXPECT_EQ(scene_.status().phase, api::Phase::kTraining);
}

TEST_F(HeldPodsTest, PartitioningSucceedsWithItsProgram) {
  scene_.Partitioning();
  scene_.PartitionPodEnded(PartitionEnding("0123abcd"));
  const std::vector<std::string> pods = scene_.Pods("cora-partition-1");
  scene_.Settle();
  ASSERT_TRUE(scene_.status().partition.has_value());
  EXPECT_EQ(scene_.status().phase, api::Phase::kTraining);
  EXPECT_THAT(scene_.MessageOf(api::kPartitioned),
              AllOf(HasSubstr("/0123abcd"), HasSubstr("istio-proxy holds pod " + pods[0])));
  scene_.SettleAfter(kHeldPodGrace);
  EXPECT_EQ(scene_.cluster().FindJob("cora-partition-1"), nullptr);
  EXPECT_THAT(scene_.MessageOf(api::kPartitioned), Not(HasSubstr("istio-proxy")));
  EXPECT_EQ(scene_.status().attempts_counted, 0);
}

TEST_F(HeldPodsTest, AFailedPartitionerIsTriedAgain) {
  scene_.Partitioning();
  scene_.PartitionPodEnded(Ending{.exit_code = 74});
  scene_.SettleWithin(testing::kSoon);
  EXPECT_EQ(scene_.restart_reason(), "Unavailable");
  EXPECT_EQ(scene_.status().partition_attempt, 2);
  EXPECT_EQ(scene_.Pods("cora-partition-2").size(), 1u);
  EXPECT_THAT(scene_.Pods("cora-partition-1"), IsEmpty());
}

TEST_F(HeldPodsTest, ServersAreReadyBesideASidecarThatIsNot) {
  scene_.PartitionJobDone();
  scene_.Settle();
  for (const std::string& pod : scene_.Pods("cora-server-0")) scene_.cluster().EndSidecar(pod, 1);
  scene_.Settle();
  EXPECT_EQ(scene_.status().replicas.at("server").ready, 2);
  EXPECT_EQ(scene_.ConditionOf(api::kServersReady), api::ConditionStatus::kTrue);
  EXPECT_EQ(scene_.status().phase, api::Phase::kTraining);
}

TEST_F(HeldPodsTest, SuspensionEndsHeldPods) {
  scene_.Training();
  scene_.Suspend();
  scene_.SettleWithin(seconds(60));
  EXPECT_EQ(scene_.status().phase, api::Phase::kSuspended);
}

TEST_F(HeldPodsTest, AProgramThatEndsWith0OnSigtermDoesNotFinishASuspendedJob) {
  scene_.cluster().InjectSidecar({.name = "istio-proxy", .ignores_sigterm = true});
  scene_.Training();
  scene_.Suspend();
  scene_.Act();  // the programs end in the second in which their pods are deleted
  for (const std::string& name : scene_.Pods("cora-trainer-1")) {
    kube::Pod* const pod = scene_.cluster().FindPod(name);
    kube::ContainerEnd& end = *testing::ProgramOf(*pod).ended;
    ASSERT_EQ(end.finished_at, *pod->meta.deletion_requested_at);
    end.exit_code = 0;
  }
  scene_.Settle();
  EXPECT_EQ(scene_.status().phase, api::Phase::kSuspending);
  scene_.SettleWithin(seconds(60));
  scene_.SettleAfter(kHeldPodGrace);
  EXPECT_EQ(scene_.status().phase, api::Phase::kSuspended);
}

TEST_F(HeldPodsTest, AChildThatAnotherWriterHasSuspendedIsNotRestarted) {
  scene_.cluster().InjectSidecar({.name = "istio-proxy", .ignores_sigterm = true});
  scene_.Training();
  scene_.cluster().SuspendJob("cora-trainer-1", true, "kueue");
  scene_.SettleAfter(seconds(10));
  ASSERT_THAT(scene_.MessageOf(api::kTrainersReady), HasSubstr("kueue"));
  scene_.SettleAfter(kHeldPodGrace);
  EXPECT_EQ(scene_.status().incarnation, 1);
  EXPECT_EQ(scene_.ReasonOf(api::kTrainersReady), kJobSuspended);
}

class KeptPodsTest : public HeldPodsTest {
 protected:
  KeptPodsTest() : HeldPodsTest(Scene::With({{"runPolicy", {{"cleanPodPolicy", "None"}}}})) {}
};

TEST_F(KeptPodsTest, CleanPodPolicyNoneKeepsHeldPods) {
  scene_.Training();
  scene_.TrainersDone();
  scene_.SettleAfter(kHeldPodGrace * 2);
  EXPECT_EQ(scene_.status().phase, api::Phase::kSucceeded);
  EXPECT_EQ(scene_.Pods("cora-trainer-1").size(), 2u);
  EXPECT_THAT(scene_.MessageOf(api::kTrainersReady), HasSubstr("container istio-proxy holds pod"));
}

}  // namespace
}  // namespace espalier::ctl::plan
