#include "operator/plan/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/testing/a_training.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using testing::ATraining;
using ::testing::SizeIs;

std::shared_ptr<kube::Pod> PodOf(const std::string& kind, const std::string& controller, const std::string& uid,
                                 const api::DistTraining& training) {
  auto pod = std::make_shared<kube::Pod>();
  pod->meta.key = {"ml", controller + "-0"};
  pod->meta.controller = kube::OwnerReference{"", kind, controller, uid};
  pod->meta.created_at = training.meta.created_at + std::chrono::seconds(1);
  return pod;
}

std::shared_ptr<kube::Job> JobNamed(const std::string& name, const std::string& owner_uid) {
  auto job = std::make_shared<kube::Job>();
  job->meta.key = {"ml", name};
  job->meta.uid = "uid-of-" + name;
  job->meta.controller = kube::OwnerReference{"", "DistTraining", "cora", owner_uid};
  return job;
}

TEST(WorldTest, ChildrenAreSortedByRole) {
  const api::DistTraining training = ATraining();
  Observed seen;
  seen.jobs = {JobNamed("cora-trainer-2", training.meta.uid), JobNamed("cora-partition-7", training.meta.uid)};
  seen.pods = {PodOf("Job", "cora-trainer-2", "uid-of-cora-trainer-2", training),
               PodOf("StatefulSet", "cora-server-0", "uid-of-a-set-that-is-gone", training),
               PodOf("StatefulSet", "cora-sampler", "uid-of-a-set-that-is-gone", training)};
  const World world(training, seen);
  EXPECT_NE(world.trainer_run(2).job, nullptr);
  EXPECT_THAT(world.trainer_run(2).pods, SizeIs(1));
  EXPECT_NE(world.partition_run(7).job, nullptr);
  EXPECT_EQ(world.partition_run(8).job, nullptr);
  EXPECT_THAT(world.pods(api::Role::kServer), SizeIs(1));
  EXPECT_THAT(world.pods(api::Role::kSampler), SizeIs(1));
}

TEST(WorldTest, ChildrenOfEarlierJobWithSameNameAreForeign) {
  const api::DistTraining training = ATraining();
  Observed seen;
  seen.jobs = {JobNamed("cora-trainer-1", "uid-of-the-cora-before")};
  seen.pods = {PodOf("Job", "cora-trainer-1", "uid-of-cora-trainer-1", training)};
  const World world(training, seen);
  EXPECT_EQ(world.trainer_run(1).job, nullptr);
  EXPECT_FALSE(world.has_pods());
  EXPECT_EQ(world.Find(kube::kJobs, "cora-trainer-1"), nullptr);
  EXPECT_TRUE(world.IsTaken(kube::kJobs, "cora-trainer-1"));
  EXPECT_FALSE(world.IsTaken(kube::kServices, "cora-trainer-1"));
}

TEST(WorldTest, PodOlderThanJobBelongsToEarlierJob) {
  const api::DistTraining training = ATraining();
  Observed seen;
  auto pod = PodOf("Job", "cora-trainer-1", "uid-of-a-job-that-is-gone", training);
  pod->meta.created_at = training.meta.created_at - std::chrono::seconds(1);
  seen.pods = {pod, PodOf("Job", "other-trainer-1", "uid-of-a-job-that-is-gone", training)};
  EXPECT_FALSE(World(training, seen).has_pods());
}

TEST(WorldTest, PodsThatBlockNamesAreLeftovers) {
  const api::DistTraining training = ATraining();
  Observed seen;
  const auto going = JobNamed("cora-trainer-1", "uid-of-the-cora-before");  // deleted in the foreground
  going->meta.deletion_requested_at = training.meta.created_at;
  seen.jobs = {going, JobNamed("cora-trainer-2", "uid-of-somebody")};
  seen.pods = {PodOf("StatefulSet", "cora-server-0", "uid-of-a-set-that-is-gone", training),
               PodOf("Job", "cora-trainer-1", "uid-of-cora-trainer-1", training),
               PodOf("Job", "cora-trainer-2", "uid-of-cora-trainer-2", training),  // its Job stays
               PodOf("StatefulSet", "cora-server-x", "uid-of-another-set", training)};
  for (auto& pod : seen.pods) {
    auto older = std::make_shared<kube::Pod>(*pod);
    older->meta.created_at = training.meta.created_at - std::chrono::seconds(1);
    pod = older;
  }
  const World world(training, seen);
  EXPECT_FALSE(world.has_pods());
  ASSERT_THAT(world.leftovers(), SizeIs(2));
  EXPECT_EQ(world.leftovers()[0]->meta.controller->name, "cora-server-0");
  EXPECT_EQ(world.leftovers()[1]->meta.controller->name, "cora-trainer-1");
}

TEST(WorldTest, ParsesOnlyGeneratedNames) {
  const auto number = [](const char* name) { return ParseNumberInName(name, "cora", resources::TrainerJobName); };
  EXPECT_EQ(number("cora-trainer-12"), 12);
  for (const char* name : {"", "-", "cora-trainer-", "cora-trainer-012", "cora-trainer--1", "cora-trainer-x",
                           "cora-trainer-99999999999999999999", "cora-partition-1", "xcora-trainer-1"}) {
    EXPECT_EQ(number(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace espalier::ctl::plan
