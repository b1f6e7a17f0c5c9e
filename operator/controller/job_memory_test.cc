#include "operator/controller/job_memory.h"

#include <gtest/gtest.h>

namespace espalier::ctl::controller {
namespace {

class JobMemoryTest : public ::testing::Test {
 protected:
  kube::WallTime now{};
  JobMemory memory{[this] { return now; }};
  const kube::ObjectKey job{"ml", "cora"};
};

TEST_F(JobMemoryTest, RefusedDryRunExpires) {
  memory.RememberDryRun(job, "a", {.generation = 1, .error = "no"}, std::chrono::seconds(8));
  EXPECT_FALSE(memory.FindDryRun(job, "a")->is_due);
  now += std::chrono::seconds(8);
  EXPECT_TRUE(memory.FindDryRun(job, "a")->is_due);
  EXPECT_EQ(memory.FindDryRun(job, "a")->error, "no");
  memory.RememberDryRun(job, "a", {.generation = 2});
  now += std::chrono::hours(24);
  EXPECT_FALSE(memory.FindDryRun(job, "a")->is_due);
}

TEST_F(JobMemoryTest, RefusalsThatDifferInNumbersAreEqual) {
  EXPECT_TRUE(memory.RememberRefusal(job, "a", {{"Job cora-partition-1", "Forbidden", "denied: request 17"}}));
  EXPECT_FALSE(memory.RememberRefusal(job, "a", {{"Job cora-partition-1", "Forbidden", "denied: request 5e-af"}}));
  EXPECT_EQ(memory.FindRefusal(job, "a")->message, "denied: request 17");
  // Now another policy refuses it.
  EXPECT_TRUE(memory.RememberRefusal(job, "a", {{"Job cora-partition-1", "Forbidden", "exceeded quota: pods=5"}}));
  EXPECT_EQ(memory.FindRefusal(job, "a")->message, "exceeded quota: pods=5");
  EXPECT_TRUE(memory.RememberRefusal(job, "a", {{"Service cora", "Forbidden", "denied: request 19"}}));
  EXPECT_TRUE(memory.RememberRefusal(job, "a", std::nullopt));
  EXPECT_FALSE(memory.RememberRefusal(job, "a", std::nullopt));
}

TEST_F(JobMemoryTest, RecreatedJobStartsEmpty) {
  memory.RememberDryRun(job, "a", {.generation = 1});
  memory.RememberTakenName(job, "a", {&kube::kServices, "cora"});
  EXPECT_FALSE(memory.FindDryRun(job, "b").has_value());
  EXPECT_TRUE(memory.FindTakenNames(job, "b").empty());
  memory.RememberDryRun(job, "b", {.generation = 1});
  EXPECT_FALSE(memory.FindDryRun(job, "a").has_value());
}

TEST_F(JobMemoryTest, ReportsWhetherRefusalIsNew) {
  EXPECT_FALSE(memory.RememberRefusal(job, "a", std::nullopt));
  EXPECT_TRUE(memory.RememberRefusal(job, "a", plan::Observed::Refusal{"Job x", "Forbidden", "quota"}));
  EXPECT_FALSE(memory.RememberRefusal(job, "a", plan::Observed::Refusal{"Job x", "Forbidden", "quota"}));
  EXPECT_TRUE(memory.RememberRefusal(job, "a", std::nullopt));
}

TEST_F(JobMemoryTest, FlavorExpires) {
  const plan::Observed::Queue::Flavor flavor{.node_labels = {{"pool", "spot"}}, .tolerations = {}, .error = {}};
  memory.RememberFlavor(job, "a", "spot", flavor, std::chrono::seconds(600));
  EXPECT_EQ(memory.FindFlavor(job, "a", "spot"), flavor);
  EXPECT_FALSE(memory.FindFlavor(job, "a", "reserved").has_value());
  EXPECT_FALSE(memory.FindFlavor(job, "b", "spot").has_value());
  now += std::chrono::seconds(600);
  EXPECT_FALSE(memory.FindFlavor(job, "a", "spot").has_value());
}

TEST_F(JobMemoryTest, ForgetsDeletedJobs) {
  memory.RememberCertificates(job, "a", {}, std::chrono::seconds(600));
  EXPECT_TRUE(memory.FindCertificates(job, "a").has_value());
  memory.Forget(job);
  EXPECT_EQ(memory.size(), 0u);
}

}  // namespace
}  // namespace espalier::ctl::controller
