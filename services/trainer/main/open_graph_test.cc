#include "services/trainer/main/open_graph.h"

#include <gtest/gtest.h>

#include <utility>

namespace espalier::trainer {
namespace {

TEST(OpenGraphTest, FailureWithoutStoreForOutputsIsErrorOfDocument) {
  TrainerFlags flags;
  const auto code = [&](const Status& failure) { return FindExitCode(failure, flags, storage::StoreSettings()); };
  EXPECT_EQ(code(FailedPrecondition("no such bucket")), ExitCode::kBadInput) << "no place to write to is given";
  flags.output_uri = testing::TempDir() + "/espalier-does-not-exist-yet";
  flags.checkpoints = flags.output_uri + "/checkpoints";
  EXPECT_EQ(code(DataLoss("a partition is damaged")), ExitCode::kBadInput);
  for (std::string* uri : {&flags.output_uri, &flags.checkpoints}) {
    const std::string before = std::exchange(*uri, "gs://bucket/run");
    EXPECT_EQ(code(FailedPrecondition("no such bucket")), ExitCode::kBadDocument);
    EXPECT_EQ(code(Unavailable("a server has ended")), ExitCode::kUnavailable);
    *uri = before;
  }
}

}  // namespace
}  // namespace espalier::trainer
