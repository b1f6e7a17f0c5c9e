// Runs in a folder in which an earlier run has left checkpoints or results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/format/checkpoint/checkpoint.h"
#include "services/format/results/outputs_manifest.h"
#include "services/runner/run/run.h"
#include "services/runner/run/testing/fake_roles.h"
#include "services/runner/run/testing/read_text.h"
#include "services/storage/file_store.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// The job of FakeRolesTest with 1 sampler, without restarts.
class EarlierRunTest : public FakeRolesTest {
 protected:
  RunOptions Options() const {
    RunOptions options = FakeRolesTest::Options();
    options.settings = {"samplers.replicas=1", "runPolicy.backoffLimit=0"};
    return options;
  }
  RunOutcome RunQuietly() const { return FakeRolesTest::RunQuietly(Options()); }
  using FakeRolesTest::RunQuietly;

  void CommitCheckpoint(uint64_t incarnation, uint64_t step) const;
};

void EarlierRunTest::CommitCheckpoint(uint64_t incarnation, uint64_t step) const {
  storage::FileStore store(root_ / "out");
  format::CheckpointManifest manifest;
  manifest.id = {incarnation, step};
  manifest.job_name = "cora";
  manifest.epoch = static_cast<uint32_t>(step / 10);
  manifest.next_step = static_cast<uint32_t>(step % 10);
  manifest.steps_per_epoch = 10;
  manifest.num_partitions = manifest.num_trainers = 1;
  for (uint32_t epoch = 0; epoch < manifest.epoch; ++epoch) manifest.loop.epochs.push_back({.epoch = epoch});
  manifest.loop.partial.epoch = manifest.epoch;
  manifest.loop.first_epoch_losses.assign(std::min<size_t>(step, 10), 0.5);
  format::CheckpointFiles files;
  for (const char* name : {format::kCheckpointModel, format::kCheckpointOptimizer}) files[name] = {};
  const auto written = format::WriteCheckpoint(store, "checkpoints", manifest, files);
  ASSERT_TRUE(written.ok()) << written.status().ToString();
}

TEST_F(EarlierRunTest, InterruptedRunNeedsResumeOrRestart) {
  CommitCheckpoint(3, 42);
  const fs::path manifest = root_ / "out/checkpoints/000003-000000000042/manifest.json";

  const RunOutcome refused = RunQuietly();
  EXPECT_EQ(refused.code, ExitCode::kBadDocument);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("1 checkpoint, the newest at epoch 4, step 2"), HasSubstr("--resume"),
                                   HasSubstr("--restart")));
  EXPECT_TRUE(fs::exists(manifest));

  RunOptions options = Options();
  options.resume = true;
  Let("trainer-0 once:exit 65");
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kBadInput);
  EXPECT_TRUE(fs::exists(manifest));
  EXPECT_THAT(ReadText(root_ / "out/run/trainer-0.args"), HasSubstr("--incarnation\n4\n"));

  options.resume = false;
  options.restart = true;
  ASSERT_EQ(RunQuietly(options).code, ExitCode::kDone);
  EXPECT_FALSE(fs::exists(manifest));
  EXPECT_THAT(ReadText(root_ / "out/run/trainer-0.args"), HasSubstr("--incarnation\n5\n"));
}

TEST_F(EarlierRunTest, ResultsOfOtherJobAreNotReplaced) {
  ASSERT_EQ(RunQuietly().code, ExitCode::kDone);
  storage::FileStore store(root_ / "out");
  format::OutputsManifest manifest;
  manifest.incarnation = 1;
  manifest.result_json = R"({"name": "another"})";
  ASSERT_TRUE(format::CommitOutputs(store, "", manifest).ok());

  const RunOutcome refused = RunQuietly();
  EXPECT_EQ(refused.code, ExitCode::kBadDocument);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("the job 'another'"), HasSubstr("--restart")));
  EXPECT_TRUE(fs::exists(root_ / "out/manifest.json"));

  RunOptions options = Options();
  options.resume = true;
  const RunOutcome not_resumed = RunQuietly(options);
  EXPECT_EQ(not_resumed.code, ExitCode::kBadDocument);
  EXPECT_EQ(not_resumed.error, refused.error);
  EXPECT_TRUE(fs::exists(root_ / "out/manifest.json"));

  options.resume = false;
  options.restart = true;
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ReadText(root_ / "out/manifest.json"), testing::Not(HasSubstr("another")));
}

TEST_F(EarlierRunTest, ResumedRunWithoutCheckpointChecksStartFiles) {
  RunOptions options = Options();
  options.resume = true;
  options.settings.push_back("checkpoint.resumeFrom=" + (root_ / "nowhere").string());
  const RunOutcome refused = RunQuietly(options);
  EXPECT_EQ(refused.code, ExitCode::kBadInput);
  EXPECT_THAT(refused.error, HasSubstr("spec.checkpoint.resumeFrom: no checkpoints in"));
  EXPECT_FALSE(fs::exists(root_ / "out/run/partitioner.args"));

  CommitCheckpoint(1, 42);
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kDone) << "a run that has its own checkpoint needs no other";
}

TEST_F(EarlierRunTest, MissingPluginKeepsEarlierRun) {
  CommitCheckpoint(3, 42);
  RunOptions options = Options();
  options.restart = true;
  options.settings.push_back("servers.plugins=[{name: degrees, path: " + (root_ / "none.so").string() + "}]");
  const RunOutcome outcome = RunQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("plugin 'degrees'"));
  EXPECT_TRUE(fs::exists(root_ / "out/checkpoints/000003-000000000042/manifest.json"));
}

TEST_F(EarlierRunTest, CheckpointsOfEndedRunAreDeleted) {
  ASSERT_EQ(RunQuietly().code, ExitCode::kDone);
  CommitCheckpoint(1, 42);
  ASSERT_EQ(RunQuietly().code, ExitCode::kDone);
  EXPECT_FALSE(fs::exists(root_ / "out/checkpoints/000001-000000000042/manifest.json"));
  EXPECT_EQ(nlohmann::json::parse(ReadText(root_ / "out/run/state.json"))["incarnation"], 2);
}

TEST_F(EarlierRunTest, StopReportsResumeCommand) {
  CommitCheckpoint(1, 42);
  Let("trainer-1 signal-run 15");
  Let("trainer-0 hang 0");
  RunOptions options = Options();
  options.resume = true;
  options.tls = true;
  options.roles.access = "rpc";
  options.ready_deadline = std::chrono::milliseconds(90'500);
  options.stop_grace = RunOptions().stop_grace;
  const RunOutcome outcome = RunQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kAskedToStop);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("saved up to epoch 4, step 2"), HasSubstr("espalier run -f "),
                                   HasSubstr("--set samplers.replicas=1 "),
                                   HasSubstr(" --tls --access rpc --ready-seconds 90.5 --resume")));
}

}  // namespace
}  // namespace espalier::run
