#include "operator/kubectl/view/failed_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kubectl/view/testing/jobs.h"

namespace espalier::ctl::view {
namespace {

using kube::Json;

Json Ended(const std::string& container, int code) {
  return {{"name", container}, {"restartCount", 0}, {"state", {{"terminated", {{"exitCode", code}}}}}};
}

JobPod FailedTrainer(const std::string& name, int64_t rank, const Json& containers) {
  return testing::Member(
      testing::PodJson(name, api::Role::kTrainer, rank, {{"phase", "Failed"}, {"containerStatuses", containers}}));
}

api::DistTraining Training() { return testing::Parsed(testing::TrainingJobJson()); }

TEST(FindFailedPodTest, FindsPodNamedByLastError) {
  const std::vector<JobPod> members = {FailedTrainer("other", 0, Json::array({Ended("trainer", 65)})),
                                       testing::Member(testing::OomKilledPodJson())};
  const auto failed = FindFailedPod(testing::Parsed(testing::FailedJobJson()), members);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(MakeDisplayName(failed->member), "trainer-1");
  EXPECT_EQ(failed->member.attempt, 4);
  EXPECT_EQ(failed->container, "trainer");
  EXPECT_EQ(failed->ended->exit_code, 137);
}

TEST(FindFailedPodTest, DoesNotReplaceMissingPod) {
  const std::vector<JobPod> members = {FailedTrainer("other", 0, Json::array({Ended("trainer", 65)}))};
  EXPECT_FALSE(FindFailedPod(testing::Parsed(testing::FailedJobJson()), members).has_value());
}

TEST(FindFailedPodTest, ChoosesStrongestReason) {
  const std::vector<JobPod> members = {FailedTrainer("a", 0, Json::array({Ended("trainer", 74)})),
                                       FailedTrainer("b", 1, Json::array({Ended("trainer", 65)}))};
  EXPECT_EQ(FindFailedPod(Training(), members)->member.pod.meta.key.name, "b");
}

TEST(FindFailedPodTest, PrefersProgramOverSidecar) {
  const std::vector<JobPod> members = {
      FailedTrainer("a", 0, Json::array({Ended("log-shipper", 1), Ended("trainer", 70)}))};
  EXPECT_EQ(FindFailedPod(Training(), members)->container, "trainer");
}

TEST(FindFailedPodTest, ConsidersEachServerOfPod) {
  const Json containers = Json::array({Ended("log-shipper", 1), Ended("server-1", 70)});
  const std::vector<JobPod> members = {testing::Member(testing::PodJson(
      "cora-server-0-0", api::Role::kServer, 0, {{"phase", "Failed"}, {"containerStatuses", containers}}))};
  EXPECT_EQ(FindFailedPod(Training(), members)->container, "server-1");
}

TEST(FindFailedPodTest, FindsCrashLoop) {
  const Json looping = {{"name", "server"},
                        {"restartCount", 7},
                        {"state", {{"waiting", {{"reason", "CrashLoopBackOff"}, {"message", "back-off 5m0s"}}}}},
                        {"lastState", {{"terminated", {{"exitCode", 139}}}}}};
  const std::vector<JobPod> members = {testing::Member(
      testing::PodJson("cora-server-0-1", api::Role::kServer, 1, {{"containerStatuses", Json::array({looping})}}))};
  const auto failed = FindFailedPod(Training(), members);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(MakeDisplayName(failed->member), "server-1");
  EXPECT_TRUE(failed->has_restarted);
  EXPECT_EQ(failed->ended->exit_code, 139);
  EXPECT_EQ(failed->waiting, "CrashLoopBackOff: back-off 5m0s");
}

TEST(FindFailedPodTest, FindsPodThatDoesNotStart) {
  const auto waiting = [](const char* reason) {
    return testing::Member(testing::PodJson(
        "p", api::Role::kSampler, 0,
        {{"phase", "Pending"},
         {"containerStatuses", Json::array({{{"name", "sampler"}, {"state", {{"waiting", {{"reason", reason}}}}}}})}}));
  };
  EXPECT_EQ(FindFailedPod(Training(), {waiting("ImagePullBackOff")})->waiting, "ImagePullBackOff");
  EXPECT_EQ(FindFailedPod(Training(), {waiting("RegistryUnavailable")})->waiting, "RegistryUnavailable");
  EXPECT_FALSE(FindFailedPod(Training(), {waiting("ContainerCreating")}).has_value());

  const JobPod unscheduled = testing::Member(testing::PodJson(
      "p", api::Role::kTrainer, 0,
      {{"phase", "Pending"},
       {"conditions",
        Json::array({{{"type", "PodScheduled"}, {"status", "False"}, {"message", "0/2 nodes are available"}}})}}));
  EXPECT_TRUE(FindFailedPod(Training(), {unscheduled}).has_value());
}

TEST(FindFailedPodTest, ReturnsNoneForHealthyJob) {
  const JobPod running = testing::Member(testing::PodJson(
      "p", api::Role::kTrainer, 0,
      {{"containerStatuses", Json::array({{{"name", "trainer"}, {"ready", true}, {"restartCount", 0}}})}}));
  EXPECT_FALSE(FindFailedPod(Training(), {running}).has_value());
}

TEST(JobPodTest, ParsesRankFromLabelsAndNames) {
  EXPECT_EQ(testing::Member(testing::PodJson("cora-server-0-3", api::Role::kServer, 0, {})).rank, 3);
  EXPECT_EQ(testing::Member(testing::PodJson("cora-trainer-1-0-x7k2p", api::Role::kTrainer, 2, {})).rank, 2);
  EXPECT_EQ(testing::Member(testing::PodJson("cora-partition-1-0-8", api::Role::kPartitioner, 0, {})).rank, 0);
  EXPECT_EQ(ParseRole("trainers").status().message(),
            "'trainers' is not a role: expected one of partitioner, server, sampler, trainer");
}

}  // namespace
}  // namespace espalier::ctl::view
