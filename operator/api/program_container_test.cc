#include "operator/api/program_container.h"

#include <gtest/gtest.h>

namespace espalier::ctl::api {
namespace {

TEST(ProgramContainerTest, FirstHasNameOfRoleFurtherServersAreNumbered) {
  EXPECT_EQ(ProgramContainer(Role::kTrainer, 0), "trainer");
  EXPECT_EQ(ProgramContainer(Role::kServer, 0), "server");
  EXPECT_EQ(ProgramContainer(Role::kServer, 15), "server-15");
}

TEST(ProgramContainerTest, ParsesNumberFromName) {
  for (uint32_t number = 0; number < job::kMaxContainersPerPod; ++number) {
    EXPECT_EQ(NumberOfContainer(Role::kServer, ProgramContainer(Role::kServer, number)), number);
  }
  EXPECT_EQ(NumberOfContainer(Role::kTrainer, "trainer"), 0u);
  for (const char* const other : {"", "trainer", "server-0", "server-01", "server-16", "server-", "server-1-2"}) {
    EXPECT_EQ(NumberOfContainer(Role::kServer, other), std::nullopt) << other;
  }
  EXPECT_EQ(NumberOfContainer(Role::kTrainer, "trainer-1"), std::nullopt) << "of trainers there is one in a pod";
}

}  // namespace
}  // namespace espalier::ctl::api
