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

TEST_F(JobMemoryTest, ForgetsARefusedDryRunAfterItsTime) {
  memory.RememberDryRun(job, "a", {1, "no"}, std::chrono::seconds(8));
  EXPECT_EQ(memory.DryRunOf(job, "a")->error, "no");
  now += std::chrono::seconds(8);
  EXPECT_FALSE(memory.DryRunOf(job, "a").has_value());
}

TEST_F(JobMemoryTest, KnowsNothingOfAJobThatWasMadeAgain) {
  memory.RememberDryRun(job, "a", {1, ""});
  memory.RememberTaken(job, "a", {&kube::kServices, "cora"});
  EXPECT_FALSE(memory.DryRunOf(job, "b").has_value());
  EXPECT_TRUE(memory.TakenOf(job, "b").empty());
  memory.RememberDryRun(job, "b", {1, ""});
  EXPECT_FALSE(memory.DryRunOf(job, "a").has_value());
}

TEST_F(JobMemoryTest, TellsWhetherARefusalIsNews) {
  EXPECT_FALSE(memory.RememberRefusal(job, "a", std::nullopt));
  EXPECT_TRUE(memory.RememberRefusal(job, "a", plan::Observed::Refusal{"Job x", "Forbidden", "quota"}));
  EXPECT_FALSE(memory.RememberRefusal(job, "a", plan::Observed::Refusal{"Job x", "Forbidden", "quota"}));
  EXPECT_TRUE(memory.RememberRefusal(job, "a", std::nullopt));
}

TEST_F(JobMemoryTest, KeepsNothingOfAJobThatIsGone) {
  memory.RememberCertificates(job, "a", {}, std::chrono::seconds(600));
  EXPECT_TRUE(memory.CertificatesOf(job, "a").has_value());
  memory.Forget(job);
  EXPECT_EQ(memory.size(), 0u);
}

}  // namespace
}  // namespace espalier::ctl::controller
