#include "services/runner/run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAreArray;

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("espalier-folder-") + info->name() + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  // Creates the folder with a file of each name that runs or programs use.
  RunFolder Used() const {
    Result<RunFolder> folder = RunFolder::Open(root_);
    EXPECT_TRUE(folder.ok()) << folder.status().ToString();
    for (const std::string& name : kOfOutputs) Write(name);
    for (const std::string& name : kOfRuns) Write(name);
    for (const std::string& name : kKept) Write(name);
    return *std::move(folder);
  }
  void Write(const std::string& name) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "something";
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root_));
    }
    return files;
  }
  static std::vector<std::string> Together(std::vector<std::string> names, const std::vector<std::string>& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  }

  // Names of the outputs of Espalier's trainers. A program may use them for its own files.
  const std::vector<std::string> kOfOutputs = {"manifest.json",      "metrics.jsonl", "model/weights.bin",
                                               "embeddings/0.npy",   "predictions/0", "logits/0",
                                               "tensorboard/events", "audit/mine",    "checkpoints/1"};
  const std::vector<std::string> kOfRuns = {"result.json", "run/server-0.json", "logs/server-0.log"};
  const std::vector<std::string> kKept = {".lock", "run/state.json", "partitions/k/manifest.json",
                                          "training-loop.state"};
  fs::path root_;
};

TEST_F(RunFolderTest, ProgramRunDeletesOnlyInternalFiles) {
  const RunFolder folder = Used();
  ASSERT_TRUE(folder.RemoveRunFiles().ok());
  ASSERT_TRUE(folder.RemoveResultOfProgram(/*keep_logs=*/true).ok());
  EXPECT_THAT(Files(), UnorderedElementsAreArray(Together(Together(kOfOutputs, kKept), {"logs/server-0.log"})));
  ASSERT_TRUE(folder.RemoveResultOfProgram(/*keep_logs=*/false).ok());
  EXPECT_THAT(Files(), UnorderedElementsAreArray(Together(kOfOutputs, kKept)));
  EXPECT_TRUE(fs::is_directory(root_ / "logs"));
}

TEST_F(RunFolderTest, TrainerRunDeletesOutputsAndKeepsCheckpoints) {
  const RunFolder folder = Used();
  ASSERT_TRUE(folder.RemoveRunFiles().ok());
  EXPECT_THAT(Files(),
              UnorderedElementsAreArray(Together(Together(kOfOutputs, kKept), {"result.json", "logs/server-0.log"})));
  ASSERT_TRUE(folder.RemoveResults(/*keep_logs=*/false).ok());
  EXPECT_THAT(Files(), UnorderedElementsAreArray(Together(kKept, {"checkpoints/1"})));
  for (const char* name : {"logs", "run", "audit"}) EXPECT_TRUE(fs::is_directory(root_ / name)) << name;
}

TEST_F(RunFolderTest, EmptiedFolderBelongsToNoRun) {
  { const RunFolder folder = Used(); }
  for (const auto& entry : fs::directory_iterator(root_)) {
    if (!entry.path().filename().string().starts_with('.')) fs::remove_all(entry.path());
  }
  EXPECT_TRUE(RunFolder::Open(root_).ok());
  Write("model/mine");
  const Result<RunFolder> folder = RunFolder::Open(root_);
  EXPECT_EQ(folder.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(folder.status().message(), testing::HasSubstr("has model, which does not belong to an earlier run"));
}

}  // namespace
}  // namespace espalier::run
