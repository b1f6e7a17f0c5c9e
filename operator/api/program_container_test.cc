#include "operator/api/program_container.h"

#include <gtest/gtest.h>

namespace espalier::ctl::api {
namespace {

TEST(ProgramContainerTest, FirstHasNameOfRoleFurtherOnesAreNumbered) {
  EXPECT_EQ(ProgramContainerName(Role::kTrainer, 0), "trainer");
  EXPECT_EQ(ProgramContainerName(Role::kServer, 0), "server");
  EXPECT_EQ(ProgramContainerName(Role::kServer, 15), "server-15");
  EXPECT_EQ(ProgramContainerName(Role::kTrainer, 1), "trainer-1");
}

TEST(ProgramContainerTest, ParsesNumberFromName) {
  for (uint32_t number = 0; number < job::kMaxContainersPerPod; ++number) {
    for (const Role role : {Role::kServer, Role::kTrainer}) {
      EXPECT_EQ(FindContainerNumber(role, ProgramContainerName(role, number)), number);
    }
  }
  for (const char* const other : {"", "trainer", "server-0", "server-01", "server-16", "server-", "server-1-2"}) {
    EXPECT_EQ(FindContainerNumber(Role::kServer, other), std::nullopt) << other;
  }
  EXPECT_EQ(FindContainerNumber(Role::kSampler, "sampler-1"), std::nullopt) << "a pod has one sampler";
}

}  // namespace
}  // namespace espalier::ctl::api
