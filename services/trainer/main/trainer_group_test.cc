#include "services/trainer/main/trainer_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::trainer {
namespace {

using testing::StartsWith;

// The name of a pod may enter DNS only after the pod has started.
TEST(TrainerGroupTest, RankZeroHostsTheRendezvousBeforeItsNameIsKnown) {
  TrainerFlags flags;
  flags.world_size = 2;
  flags.rendezvous = "cora-trainer-1-0.cora.invalid:0";
  flags.local_address = "127.0.0.1";
  flags.insecure_listen_any = true;

  const auto group = TrainerGroup::Listen(flags, nullptr);

  ASSERT_TRUE(group.ok()) << group.status().ToString();
  EXPECT_THAT((*group)->rendezvous(), StartsWith("cora-trainer-1-0.cora.invalid:"));
}

}  // namespace
}  // namespace espalier::trainer
