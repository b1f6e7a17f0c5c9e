// Tests the messages of a run, with fake role binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/format/checkpoint/checkpoint.h"
#include "services/runner/run/testing/fake_roles.h"
#include "services/storage/file_store.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunMessagesTest : public FakeRolesTest {
 protected:
  struct Said {
    RunOutcome outcome;
    std::string lines;
  };

  Said Run(const std::vector<std::string>& settings = {}) const {
    RunOptions options = Options();
    options.settings = settings;
    options.environment["AWS_EC2_METADATA_DISABLED"] = "true";  // no network
    Said said;
    char* text = nullptr;
    size_t size = 0;
    std::FILE* file = open_memstream(&text, &size);
    {
      terminal::Progress progress(terminal::ProgressStyle::kLines, file);
      said.outcome = run::Run(options, progress);
    }
    std::fclose(file);
    said.lines.assign(text, size);
    std::free(text);
    return said;
  }

  void CommitCheckpointOf(const std::string& other) const {
    storage::FileStore store(root_ / other);
    format::CheckpointManifest manifest;
    manifest.id = {1, 42};
    manifest.job_name = "cora";
    manifest.epoch = 4;
    manifest.next_step = 2;
    manifest.steps_per_epoch = 10;
    manifest.num_partitions = manifest.num_trainers = 1;
    for (uint32_t epoch = 0; epoch < manifest.epoch; ++epoch) manifest.loop.epochs.push_back({.epoch = epoch});
    manifest.loop.partial.epoch = manifest.epoch;
    manifest.loop.first_epoch_losses.assign(10, 0.5);
    format::CheckpointFiles files;
    for (const char* name : {format::kCheckpointModel, format::kCheckpointOptimizer}) files[name] = {};
    const auto written = format::WriteCheckpoint(store, "checkpoints", manifest, files);
    ASSERT_TRUE(written.ok()) << written.status().ToString();
  }
};

TEST_F(RunMessagesTest, ReportsReusedPartitioning) {
  const std::string place = (root_ / "out/partitions/k").string();
  const Said made = Run();
  ASSERT_EQ(made.outcome.code, ExitCode::kDone) << made.outcome.error;
  EXPECT_THAT(made.lines, AllOf(HasSubstr("created 2 partitions in "), HasSubstr(": " + place + "\n"),
                                Not(HasSubstr("reused")), Not(HasSubstr("warning"))));
  Let("partitioner reuse 0");
  const Said reused = Run();
  ASSERT_EQ(reused.outcome.code, ExitCode::kDone) << reused.outcome.error;
  EXPECT_THAT(reused.lines, AllOf(HasSubstr("reused 2 existing partitions: " + place + "\n"),
                                  Not(HasSubstr("created 2 partitions"))));
}

TEST_F(RunMessagesTest, WarningsOfPartitionerAreShownOnce) {
  Let("partitioner warn 0");
  const Said said = Run();
  ASSERT_EQ(said.outcome.code, ExitCode::kDone) << said.outcome.error;
  const std::string warning = "warning: half of it is gone\n";
  const size_t at = said.lines.find(warning);
  ASSERT_NE(at, std::string::npos) << said.lines;
  EXPECT_EQ(said.lines.find(warning, at + 1), std::string::npos) << said.lines;
}

TEST_F(RunMessagesTest, WarningsOfDocumentAreShownOnce) {
  const Said said = Run({"training.model={type: GAT, hiddenSize: 8, heads: 8}"});
  ASSERT_EQ(said.outcome.code, ExitCode::kDone) << said.outcome.error;
  const std::string warning = "warning: spec.training.model.hiddenSize: 8 leaves 1 column for each of 8 heads";
  const size_t at = said.lines.find(warning);
  ASSERT_NE(at, std::string::npos) << said.lines;
  EXPECT_EQ(said.lines.find(warning, at + 1), std::string::npos) << said.lines;
}

TEST_F(RunMessagesTest, WarningsAreShownAndInResult) {
  Let("partitioner warn 0");
  Let("trainer-0 warn 0");
  const Said said = Run();
  ASSERT_EQ(said.outcome.code, ExitCode::kDone) << said.outcome.error;
  EXPECT_THAT(said.lines,
              AllOf(HasSubstr("warning: half of it is gone\n"), HasSubstr("warning: half of it has no label\n")));
  const auto result = nlohmann::json::parse(said.outcome.result_json);
  EXPECT_EQ(result["warnings"], nlohmann::json({"half of it has no label", "half of it is gone"}));
}

TEST_F(RunMessagesTest, UnknownNameIsErrorOfDocument) {
  Let("partitioner unknown-name 0");
  const Said said = Run();
  EXPECT_EQ(said.outcome.code, ExitCode::kBadDocument);
  EXPECT_EQ(said.outcome.error, (root_ / "job.yaml").string() + ":13:14: spec.training.task.label: no such column");
  EXPECT_FALSE(fs::exists(root_ / "out/run/server-0.args"));
}

TEST_F(RunMessagesTest, ReportsCheckpointOfOtherJob) {
  CommitCheckpointOf("other");
  const std::string other = (root_ / "other").string();
  const Said said = Run({"checkpoint.resumeFrom=" + other});
  ASSERT_EQ(said.outcome.code, ExitCode::kDone) << said.outcome.error;
  EXPECT_THAT(said.lines, HasSubstr("resuming from epoch 4, step 2 of " + other + " (checkpoint.resumeFrom)\n"));

  const std::string one = other + "/checkpoints/000001-000000000042";
  EXPECT_THAT(Run({"checkpoint.resumeFrom=" + one}).lines,
              HasSubstr("resuming from epoch 4, step 2 of " + one + " (checkpoint.resumeFrom)\n"));
}

TEST_F(RunMessagesTest, WithoutATrainerADocumentThatTrainsIsRefusedAtOnce) {
  fs::remove(root_ / "bin/espalier-trainer");
  const Said said = Run({});
  EXPECT_EQ(said.outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(said.outcome.error, HasSubstr("espalier-trainer, which trains the model of a document"));
  EXPECT_THAT(said.lines, Not(HasSubstr("partitioning")));
}

TEST_F(RunMessagesTest, StartFilesAreCheckedBeforePartitioning) {
  const std::string nowhere = (root_ / "nowhere").string();
  for (const auto& [field, what] : {std::pair("training.model.uri", "opening " + nowhere),
                                    std::pair("checkpoint.resumeFrom", "no checkpoints in file://" + nowhere),
                                    std::pair("output.nodesUri", "the folder " + nowhere)}) {
    const Said said = Run({field + ("=" + nowhere)});
    EXPECT_EQ(said.outcome.code, ExitCode::kBadInput) << field;
    EXPECT_THAT(said.outcome.error, AllOf(HasSubstr(std::string("spec.") + field + ": "), HasSubstr(what)));
    EXPECT_THAT(said.lines, Not(HasSubstr("partitioning"))) << field;
  }
  for (const char* field : {"training.model.uri", "checkpoint.resumeFrom", "output.nodesUri"}) {
    const Said said = Run({field + std::string("=s3://bucket/folder/file")});
    EXPECT_EQ(said.outcome.code, ExitCode::kBadDocument) << field;
    EXPECT_THAT(said.outcome.error,
                AllOf(HasSubstr(std::string("spec.") + field + ": "), HasSubstr("there are no credentials for S3")));
  }
  fs::create_directory(root_ / "chosen");
  std::ofstream(root_ / "chosen/node.npy") << "what it holds, trainers see";
  const Said said = Run({"output.nodesUri=" + (root_ / "chosen").string()});
  EXPECT_EQ(said.outcome.code, ExitCode::kDone) << said.outcome.error;
}

TEST_F(RunMessagesTest, ModelFileOfOtherKindIsReportedBeforePartitioning) {
  std::ofstream(root_ / "model.pt") << "\x93NUMPY and more";
  const Said said = Run({"training.model.uri=" + (root_ / "model.pt").string()});
  EXPECT_EQ(said.outcome.code, ExitCode::kBadInput);
  EXPECT_THAT(said.outcome.error, AllOf(HasSubstr("spec.training.model.uri: "), HasSubstr("model.pt is a .npy array")));
  EXPECT_THAT(said.lines, Not(HasSubstr("partitioning")));
}

}  // namespace
}  // namespace espalier::run
