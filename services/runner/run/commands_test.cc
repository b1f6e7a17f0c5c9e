#include "services/runner/run/commands.h"

#include <gmock/gmock.h>

namespace espalier::run {
namespace {

TEST(CommandsTest, TrainersDoNotInheritTheRanksOfAnotherRun) {
  const process::ChildSpec trainer = TrainerCommand(Site{.paths = RunPaths("run"), .program_folder = ""}, RoleOptions(),
                                                    job::DistTraining(), 0, TrainerPeers(), 1);
  for (const char* variable :
       {"ESPALIER_LOCAL_ADDRESS", "ESPALIER_SAMPLERS", "ESPALIER_POD_INDEX", "ESPALIER_TRAINERS_PER_POD",
        "ESPALIER_TRAINER_IN_POD", "ESPALIER_SHARED_ROW_FILE", "ESPALIER_RING_LISTEN"}) {
    EXPECT_THAT(trainer.environment, testing::Contains(testing::Pair(variable, ""))) << variable;
  }
}

}  // namespace
}  // namespace espalier::run
