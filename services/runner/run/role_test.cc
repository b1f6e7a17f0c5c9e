#include "services/runner/run/role.h"

#include <gtest/gtest.h>

namespace espalier::run {
namespace {

TEST(RoleTest, NamesRoundTrip) {
  for (const ChildId child : {ChildId{Role::kPartitioner, 0}, ChildId{Role::kPartitioner, 2}, ChildId{Role::kServer, 0},
                              ChildId{Role::kSampler, 17}, ChildId{Role::kTrainer, 4294967295}}) {
    EXPECT_EQ(ParseChildId(ToString(child)), child);
  }
}

TEST(RoleTest, RejectsInvalidNames) {
  for (const char* name : {"", "server", "server-", "server-x", "server-1x", "server--1", "server-01",
                           "trainer-4294967296", "partitioner-0", "partitioner-", "../server-1"}) {
    EXPECT_EQ(ParseChildId(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace espalier::run
