#include "services/runner/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace espalier::run {
namespace {

class RunStateTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "espalier-state-" + std::to_string(getpid());
};

TEST_F(RunStateTest, SurvivesTheRun) {
  RunState state;
  state.attempts = {.incarnation = 12, .total = 3, .counted = 2};
  state.reason = "trainer-1 was killed (signal 9)";
  state.processes = {{{Role::kServer, 1}, 4711}};
  ASSERT_TRUE(WriteRunState(path_, state).ok());

  const Result<RunState> read = ReadRunState(path_);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->attempts.incarnation, 12u);
  EXPECT_FALSE(read->succeeded);
  EXPECT_TRUE(read->processes.empty());
  const auto json = nlohmann::json::parse(RunStateJson(state));
  EXPECT_EQ(json["processes"]["server-1"], 4711);
  EXPECT_EQ(json["attempts"]["counted"], 2);
  EXPECT_EQ(json["reason"], "trainer-1 was killed (signal 9)");
}

TEST_F(RunStateTest, MissingFileMeansNoRun) {
  const Result<RunState> read = ReadRunState(path_);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->attempts.incarnation, 0u);
}

TEST_F(RunStateTest, NamesInvalidStateFile) {
  for (const char* text : {"", "[]", "{\"incarnation\": -1, \"succeeded\": true}", "{\"incarnation\": 1}"}) {
    std::ofstream(path_, std::ios::trunc) << text;
    const Result<RunState> read = ReadRunState(path_);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.status().message(), testing::HasSubstr(path_));
  }
}

TEST_F(RunStateTest, UnreadableStateIsError) {
  const Status status = ReadRunState(testing::TempDir()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("is a folder"));
}

}  // namespace
}  // namespace espalier::run
