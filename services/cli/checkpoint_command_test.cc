// Tests `espalier checkpoint` with checkpoints in local folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/format/testing/tiny_checkpoint.h"
#include "services/storage/file_store.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct CommandEnd {
  int code = -1;
  std::string output;  // both streams
};

class CheckpointCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("checkpoints-") + info->name() + std::to_string(getpid()));
    fs::remove_all(root_);
    storage::FileStore store(root_ / "run");
    for (const uint32_t step : {0u, 1u, 3u}) {
      format::CheckpointManifest manifest = format::TinyCheckpoint(1, step);
      if (step == 0) manifest.metric.value = 0.75;
      ASSERT_TRUE(format::WriteCheckpoint(store, "checkpoints", manifest, format::TinyFiles(manifest.id)).ok());
    }
    ASSERT_TRUE(store.Delete("checkpoints/000001-000000000011/manifest.json").ok());
  }
  void TearDown() override { fs::remove_all(root_); }

  CommandEnd Espalier(const std::string& arguments) const {
    const std::string command =
        "cd '" + root_.string() + "' && '" ESPALIER_BINARY "' " + arguments + " 2>&1 </dev/null";
    std::FILE* pipe = popen(command.c_str(), "r");
    CommandEnd ended;
    std::array<char, 4096> buffer;
    for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      ended.output.append(buffer.data(), n);
    }
    const int state = pclose(pipe);
    ended.code = WIFEXITED(state) ? WEXITSTATUS(state) : 1000 + WTERMSIG(state);
    return ended;
  }

  fs::path root_;
};

TEST_F(CheckpointCommandTest, ListsCheckpoints) {
  const CommandEnd listed = Espalier("checkpoint ls run");
  EXPECT_EQ(listed.code, 0) << listed.output;
  EXPECT_THAT(listed.output, AllOf(HasSubstr("000001-000000000008  complete"), HasSubstr("epoch 2 step 1"),
                                   HasSubstr("Accuracy 0.75"), HasSubstr("000001-000000000011  incomplete")));
  const json list = json::parse(Espalier("checkpoint ls run/checkpoints --json").output)["checkpoints"];
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["value"], 0.75);
  EXPECT_EQ(list[1]["globalStep"], 9);
  EXPECT_EQ(list[2]["state"], "incomplete");
}

TEST_F(CheckpointCommandTest, ShowsNewestOrNamedCheckpoint) {
  EXPECT_THAT(Espalier("checkpoint inspect run").output,
              AllOf(HasSubstr("000001-000000000009 of job tiny"), HasSubstr("epoch 2 step 1; 5 epochs of 4 steps each"),
                    HasSubstr("training.seed = 7"), HasSubstr("model.safetensors")));
  const CommandEnd one = Espalier("checkpoint inspect run/checkpoints/000001-000000000008 --json");
  EXPECT_EQ(json::parse(one.output)["global_step"], 8);
}

TEST_F(CheckpointCommandTest, VerifiesEveryChecksum) {
  EXPECT_EQ(Espalier("checkpoint verify run").code, 0);
  EXPECT_THAT(Espalier("checkpoint verify run -q").output, IsEmpty());
  const fs::path model = root_ / "run/checkpoints/000001-000000000009/model.safetensors";
  std::fstream(model, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('\x7f');
  const CommandEnd verified = Espalier("checkpoint verify run");
  EXPECT_EQ(verified.code, 65);
  EXPECT_THAT(verified.output, HasSubstr("000001-000000000009/model.safetensors: block 0"));
  EXPECT_EQ(Espalier("checkpoint verify run/checkpoints/000001-000000000008").code, 0);
  EXPECT_EQ(Espalier("checkpoint verify run/checkpoints/000001-000000000009").code, 65);
}

TEST_F(CheckpointCommandTest, ReportsMissingCheckpoints) {
  const CommandEnd ended = Espalier("checkpoint ls elsewhere");
  EXPECT_EQ(ended.code, 65);
  EXPECT_THAT(ended.output, HasSubstr("no checkpoints in file://"));
  EXPECT_EQ(Espalier("checkpoint").code, 64);
  EXPECT_EQ(Espalier("checkpoint ls").code, 64);
}

}  // namespace
}  // namespace espalier::cli
