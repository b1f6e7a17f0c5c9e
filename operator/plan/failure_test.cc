#include "operator/plan/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

using ::testing::HasSubstr;

const kube::WallTime kNoon{std::chrono::hours(12)};

kube::Pod PodThatEnded(int exit_code, const std::string& reason = "Error") {
  kube::Pod pod;
  pod.meta.key.name = "pod-" + std::to_string(exit_code);
  pod.phase = exit_code == 0 ? kube::PodPhase::kSucceeded : kube::PodPhase::kFailed;
  pod.containers.push_back({.name = "trainer"});
  pod.containers.back().ended =
      kube::ContainerEnd{.exit_code = exit_code, .signal = 0, .reason = reason, .message = {}, .finished_at = kNoon};
  return pod;
}

// As containerd reports containers that a reboot has ended.
kube::Pod PodOfARestartedNode() { return PodThatEnded(255, "Unknown"); }

kube::ContainerEnd NotFoundByTheKubelet() {
  return {.exit_code = 137,
          .signal = 0,
          .reason = "ContainerStatusUnknown",
          .message = "The container could not be located when the pod was terminated",
          .finished_at = {}};
}

kube::Pod PodLostByRuntime() {
  kube::Pod pod = PodThatEnded(137);
  pod.containers[0].ended = NotFoundByTheKubelet();
  return pod;
}

kube::Pod Deleted(kube::Pod pod, kube::WallTime at = kNoon) {
  pod.meta.deletion_requested_at = at;
  return pod;
}

kube::Pod Disrupted(kube::Pod pod) {
  pod.disruption_target = true;
  return pod;
}

std::string StrongestOf(const std::vector<kube::Pod>& pods) {
  std::vector<const kube::Pod*> pointers;
  for (const kube::Pod& pod : pods) pointers.push_back(&pod);
  const std::optional<Failure> failure = StrongestFailure(pointers, BadInputDuringDeletion::kIsTrusted);
  return failure ? failure->reason : "none";
}

TEST(FailureTest, ExitCodesDetermineRetry) {
  const struct {
    int exit_code;
    const char* reason;
    Retry retry;
  } rows[] = {
      {64, "BadDocument", Retry::kNever},   {65, "BadInput", Retry::kNever},       {70, "Internal", Retry::kCounted},
      {74, "Unavailable", Retry::kCounted}, {77, "NotPermitted", Retry::kCounted}, {75, "Stopped", Retry::kNotCounted},
      {1, kOtherExit, Retry::kCounted},     {127, kOtherExit, Retry::kCounted},    {139, kSignal, Retry::kCounted}};
  for (const auto& row : rows) {
    const std::optional<Failure> failure = FindFailure(PodThatEnded(row.exit_code));
    ASSERT_TRUE(failure.has_value()) << row.exit_code;
    EXPECT_EQ(failure->reason, row.reason);
    EXPECT_EQ(failure->retry, row.retry) << row.exit_code;
    EXPECT_EQ(failure->exit_code, row.exit_code);
  }
}

TEST(FailureTest, APodThatRunsOrEndedWellHasNotFailed) {
  kube::Pod running;
  running.phase = kube::PodPhase::kRunning;
  EXPECT_FALSE(FindFailure(running).has_value());
  EXPECT_FALSE(FindFailure(PodThatEnded(0)).has_value());
}

TEST(FailureTest, CauseRanksAboveConsequences) {
  const kube::Pod peer = PodThatEnded(74);
  EXPECT_EQ(StrongestOf({peer, PodThatEnded(65), PodThatEnded(137, kOutOfMemory)}), "BadInput");
  EXPECT_EQ(StrongestOf({peer, PodThatEnded(70), PodThatEnded(137, kOutOfMemory)}), kOutOfMemory);
  EXPECT_EQ(StrongestOf({peer, PodThatEnded(77), PodThatEnded(139)}), kSignal);
  EXPECT_EQ(StrongestOf({peer, Disrupted(PodThatEnded(75)), PodThatEnded(77)}), "NotPermitted");
  EXPECT_EQ(StrongestOf({peer, PodThatEnded(75), Disrupted(PodThatEnded(143))}), kDisrupted);
  EXPECT_EQ(StrongestOf({peer, PodThatEnded(75)}), "Stopped");
  EXPECT_EQ(StrongestOf({peer, peer}), "Unavailable");
  EXPECT_EQ(StrongestOf({}), "none");
}

TEST(FailureTest, DeletedPodRanksLast) {
  const kube::Pod stopped = Deleted(PodThatEnded(143));
  EXPECT_EQ(StrongestOf({stopped}), "Stopped");
  EXPECT_EQ(FindFailure(stopped)->retry, Retry::kNotCounted);
  EXPECT_EQ(StrongestOf({stopped, PodThatEnded(74)}), "Unavailable");
  EXPECT_EQ(StrongestOf({Deleted(PodThatEnded(75)), PodThatEnded(74)}), "Unavailable");
}

TEST(FailureTest, TerminatingPodCountsAsStopped) {
  kube::Pod ending;
  ending.phase = kube::PodPhase::kRunning;
  ending = Deleted(ending);
  EXPECT_EQ(StrongestOf({ending}), "Stopped");
  EXPECT_EQ(StrongestOf({ending, PodThatEnded(74)}), "Unavailable");
  EXPECT_EQ(StrongestOf({Deleted(PodThatEnded(0))}), "none");
}

TEST(FailureTest, RecordedFailureRanksAsOriginal) {
  std::vector<kube::Pod> pods = {Deleted(PodThatEnded(143)), Disrupted(PodThatEnded(143)), PodOfARestartedNode()};
  for (const int exit_code : {1, 70, 74, 77, 139}) pods.push_back(PodThatEnded(exit_code));
  pods.push_back(PodThatEnded(137, kOutOfMemory));
  for (const kube::Pod& pod : pods) {
    const std::optional<Failure> seen = FindFailure(pod);
    ASSERT_TRUE(seen.has_value());
    const Failure remembered = FailureOfDeletedPod(seen->reason);
    EXPECT_EQ(remembered.rank, seen->rank) << seen->reason;
    EXPECT_EQ(remembered.retry, seen->retry) << seen->reason;
    EXPECT_EQ(remembered.reason, seen->reason);
  }
}

TEST(FailureTest, DeletedPodKeepsFailuresNotCausedBySigterm) {
  EXPECT_EQ(StrongestOf({Deleted(PodThatEnded(65)), PodThatEnded(74)}), "BadInput");
  EXPECT_EQ(StrongestOf({Deleted(PodThatEnded(137, kOutOfMemory)), PodThatEnded(74)}), kOutOfMemory);
}

TEST(FailureTest, BadInputAfterDeletionIsConsequence) {
  const kube::Pod crashed = PodThatEnded(139), deleted = Deleted(PodThatEnded(65));
  const kube::Pod by_itself = Deleted(PodThatEnded(65), kNoon + std::chrono::seconds(5));
  const auto of_programs = [](const kube::Pod& a, const kube::Pod& b) {
    const std::vector<const kube::Pod*> pods = {&a, &b};
    return StrongestFailure(pods, BadInputDuringDeletion::kIsSecondary)->reason;
  };
  EXPECT_EQ(of_programs(crashed, deleted), kSignal);
  EXPECT_EQ(of_programs(deleted, deleted), "Stopped");
  EXPECT_EQ(of_programs(crashed, by_itself), "BadInput");
  EXPECT_EQ(of_programs(crashed, PodThatEnded(64)), "BadDocument");
}

TEST(FailureTest, PodThatEndedBeforeDeletionEndedByItself) {
  const kube::WallTime later = kNoon + std::chrono::seconds(5);
  EXPECT_EQ(StrongestOf({Deleted(PodThatEnded(70), later), PodThatEnded(74)}), "Internal");
}

TEST(FailureTest, PodOnLostNodeIsNotCounted) {
  kube::Pod pod;
  pod.phase = kube::PodPhase::kRunning;
  pod = Deleted(Disrupted(pod));
  ASSERT_TRUE(FindFailure(pod).has_value());
  EXPECT_EQ(FindFailure(pod)->reason, kDisrupted);
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kNotCounted);

  kube::Pod unknown;
  unknown.phase = kube::PodPhase::kUnknown;
  EXPECT_EQ(FindFailure(unknown)->reason, kNodeLost);
}

TEST(FailureTest, ContainerLostWithNodeIsNotCounted) {
  for (const kube::Pod& pod : {PodOfARestartedNode(), PodLostByRuntime()}) {
    const std::optional<Failure> failure = FindFailure(pod);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->reason, kNodeLost);
    EXPECT_EQ(failure->retry, Retry::kNotCounted);
    EXPECT_EQ(failure->exit_code, std::nullopt);
    EXPECT_THAT(failure->message, HasSubstr("the node lost the container"));
    EXPECT_THAT(failure->message, HasSubstr(pod.containers[0].ended->reason));
  }
}

TEST(FailureTest, ExitCode255IsCounted) {
  EXPECT_EQ(FindFailure(PodThatEnded(255))->retry, Retry::kCounted);
  EXPECT_EQ(FindFailure(PodThatEnded(1, "Unknown"))->retry, Retry::kCounted);
  EXPECT_EQ(FindFailure(PodThatEnded(137))->retry, Retry::kCounted);
}

// The peers notice within milliseconds, and the Job controller deletes the other pods before the node is back.
TEST(FailureTest, LostNodeRanksAboveErrorsOfPeers) {
  const kube::Pod peer = PodThatEnded(74), peer_told_to_end = Deleted(PodThatEnded(75));
  EXPECT_EQ(StrongestOf({peer, PodOfARestartedNode()}), kNodeLost);
  EXPECT_EQ(StrongestOf({peer_told_to_end, PodOfARestartedNode()}), kNodeLost);
  EXPECT_EQ(StrongestOf({peer, Deleted(PodOfARestartedNode())}), kNodeLost);
  EXPECT_EQ(StrongestOf({peer, Deleted(PodOfARestartedNode(), kNoon + std::chrono::seconds(5))}), kNodeLost);
  kube::Pod forgotten = Deleted(PodLostByRuntime());
  forgotten.containers[0].last_ended = NotFoundByTheKubelet();  // "The container used to be Running"
  EXPECT_EQ(StrongestOf({peer, forgotten}), kNodeLost);
}

TEST(FailureTest, UnrelatedFailureRanksAboveLostNode) {
  EXPECT_EQ(StrongestOf({PodOfARestartedNode(), PodThatEnded(65)}), "BadInput");
  EXPECT_EQ(StrongestOf({PodOfARestartedNode(), PodThatEnded(137, kOutOfMemory)}), kOutOfMemory);
  EXPECT_EQ(StrongestOf({PodOfARestartedNode(), PodThatEnded(139)}), kSignal);
  EXPECT_EQ(StrongestOf({PodOfARestartedNode(), PodThatEnded(77)}), "NotPermitted");
}

// The kubelet reports a container that was never created in the same way.
TEST(FailureTest, PodDeletedBeforeStartIsStopped) {
  const kube::Pod deleted = Deleted(PodLostByRuntime());
  EXPECT_EQ(StrongestOf({deleted}), "Stopped");
  EXPECT_EQ(StrongestOf({deleted, PodThatEnded(74)}), "Unavailable");
}

TEST(FailureTest, PodKilledByKubeletIsCounted) {
  kube::Pod pod = PodLostByRuntime();
  pod.reason = "DeadlineExceeded";
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kCounted);
}

TEST(FailureTest, DisruptedPodIsNeverCounted) {
  EXPECT_EQ(FindFailure(Disrupted(PodThatEnded(137)))->retry, Retry::kNotCounted);
  EXPECT_EQ(FindFailure(Disrupted(PodThatEnded(70)))->retry, Retry::kNotCounted);
}

TEST(FailureTest, RejectedPodIsCounted) {
  kube::Pod pod;
  pod.phase = kube::PodPhase::kFailed;
  pod.reason = "OutOfcpu";
  pod.message = "Node didn't have enough resource: cpu";
  EXPECT_EQ(FindFailure(pod)->reason, kPodRejected);
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kCounted);
  EXPECT_THAT(FindFailure(pod)->message, HasSubstr("enough resource"));
}

TEST(FailureTest, ProgramRanksAboveSidecars) {
  kube::Pod pod = PodThatEnded(75);
  pod.containers[0].ended->message = R"({"reason": "Stopped", "exitCode": 75, "message": "asked to stop"})";
  kube::ContainerState sidecar = PodThatEnded(143).containers[0];
  sidecar.name = "istio-proxy";
  pod.containers.push_back(sidecar);
  EXPECT_EQ(FindFailure(pod)->reason, "Stopped");
  EXPECT_EQ(FindFailure(pod)->message, "asked to stop");
  std::swap(pod.containers[0], pod.containers[1]);
  EXPECT_EQ(FindFailure(pod)->reason, "Stopped");
  pod.containers[0].ended->reason = kOutOfMemory;
  EXPECT_EQ(FindFailure(pod)->reason, "Stopped");
  pod.containers.pop_back();  // the program has not run
  EXPECT_EQ(FindFailure(pod)->reason, kOutOfMemory);
  EXPECT_THAT(FindFailure(pod)->message, HasSubstr("container istio-proxy"));
}

TEST(FailureTest, SidecarsDoNotFailSucceededProgram) {
  kube::Pod pod = PodThatEnded(0);
  pod.phase = kube::PodPhase::kFailed;
  pod.containers.push_back(PodThatEnded(1).containers[0]);
  pod.containers[1].name = "istio-proxy";
  EXPECT_FALSE(FindFailure(pod).has_value());
  EXPECT_EQ(StrongestOf({pod}), kSidecarFailed);  // if the Job fails because of it
  EXPECT_EQ(StrongestOf({pod, PodThatEnded(74)}), "Unavailable");
  EXPECT_EQ(StrongestOf({pod, Deleted(PodThatEnded(75))}), kSidecarFailed);
  EXPECT_FALSE(FindFailure(Disrupted(PodThatEnded(0))).has_value());
}

// A user's program may end with 0 on SIGTERM, and the sidecar with 143.
TEST(FailureTest, SidecarKilledWithPodIsNoFailure) {
  kube::Pod pod = PodThatEnded(0);
  pod.phase = kube::PodPhase::kFailed;
  pod.containers.push_back(PodThatEnded(143).containers[0]);
  pod.containers[1].name = "istio-proxy";
  const auto failure_of = [](const kube::Pod& one) {
    const std::vector<const kube::Pod*> pods{&one};
    return *StrongestFailure(pods, BadInputDuringDeletion::kIsTrusted);
  };
  const kube::Pod evicted = Deleted(Disrupted(pod));
  EXPECT_EQ(failure_of(evicted).reason, kDisrupted);
  EXPECT_EQ(failure_of(evicted).retry, Retry::kNotCounted);
  EXPECT_EQ(StrongestOf({evicted, PodThatEnded(74)}), kDisrupted);
  EXPECT_EQ(failure_of(Deleted(pod)).reason, "Stopped");
  EXPECT_EQ(failure_of(Deleted(pod)).retry, Retry::kNotCounted);
  EXPECT_EQ(StrongestOf({Deleted(pod), PodThatEnded(74)}), "Unavailable");
  EXPECT_EQ(failure_of(Deleted(pod, kNoon + std::chrono::seconds(1))).reason, kSidecarFailed);
}

TEST(FailureTest, ProgramFailsWhileSidecarRuns) {
  kube::Pod pod = PodThatEnded(74);
  pod.phase = kube::PodPhase::kRunning;
  pod.containers.insert(pod.containers.begin(), {.name = "istio-proxy", .ready = true});
  EXPECT_EQ(FindFailure(pod)->reason, "Unavailable");
  EXPECT_EQ(StrongestOf({Deleted(pod, kNoon + std::chrono::seconds(5))}), "Unavailable");
}

TEST(FailureTest, ForeignTerminationMessageIsIgnored) {
  kube::Pod pod = PodThatEnded(70);
  for (const char* text : {"{", "[]", "null", R"({"message": 7})", "\xff\xfe", R"({"exitCode": 70, "message": []})"}) {
    pod.containers[0].ended->message = text;
    EXPECT_EQ(FindFailure(pod)->message, "ended with exit code 70") << text;
  }
}

TEST(FailureTest, StartErrorOfRuntimeIsShown) {
  kube::Pod pod = PodThatEnded(128);
  pod.containers[0].ended->reason = "StartError";
  pod.containers[0].ended->message = "exec: \"espalier-trainer\": executable file not found in $PATH";
  EXPECT_EQ(FindFailure(pod)->message, "StartError: exec: \"espalier-trainer\": executable file not found in $PATH");
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kCounted);
}

TEST(FailureTest, OnlyProgramContainersFailPermanently) {
  kube::Pod pod = PodThatEnded(65);
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kNever);
  pod.containers[0].name = "server-1";  // the second of a pod's servers
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kNever);
  pod.meta.labels[resources::kComponentLabel] = "server";
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kNever);
  pod.meta.labels[resources::kComponentLabel] = "trainer";  // sidecars of a trainer pod may have that name
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kCounted);
  const std::vector<const kube::Pod*> pods{&pod};
  EXPECT_FALSE(FindPermanentFailure(pods).has_value());
  pod.containers[0].name = "trainer";
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kNever);
  pod.containers[0].name = "fetch-data";
  EXPECT_EQ(FindFailure(pod)->retry, Retry::kCounted);
  EXPECT_FALSE(FindPermanentFailure(pods).has_value());
}

TEST(FailureTest, EachServerOfPodCanFailPermanently) {
  kube::Pod pod;
  pod.phase = kube::PodPhase::kRunning;
  pod.containers = {{.name = "server"}, {.name = "server-1"}};
  pod.containers[1].last_ended = kube::ContainerEnd{.exit_code = 65};
  const std::vector<const kube::Pod*> pods{&pod};
  ASSERT_TRUE(FindPermanentFailure(pods).has_value());
  EXPECT_EQ(FindPermanentFailure(pods)->reason, "BadInput");
}

TEST(FailureTest, RestartedContainerCanFailPermanently) {
  kube::Pod pod;
  pod.phase = kube::PodPhase::kRunning;
  pod.containers.push_back({.name = "trainer"});
  const std::vector<const kube::Pod*> pods{&pod};
  EXPECT_FALSE(FindPermanentFailure(pods).has_value());
  pod.containers[0].last_ended = kube::ContainerEnd{.exit_code = 74};
  EXPECT_FALSE(FindPermanentFailure(pods).has_value());
  pod.containers[0].last_ended = kube::ContainerEnd{.exit_code = 65};
  ASSERT_TRUE(FindPermanentFailure(pods).has_value());
  EXPECT_EQ(FindPermanentFailure(pods)->reason, "BadInput");
  pod.containers[0].last_ended = kube::ContainerEnd{.exit_code = 65, .signal = 0, .reason = kOutOfMemory};
  EXPECT_FALSE(FindPermanentFailure(pods).has_value());
}

}  // namespace
}  // namespace espalier::ctl::plan
