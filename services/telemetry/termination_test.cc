#include "services/telemetry/termination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace espalier::telemetry {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class TerminationTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override {
    unsetenv("ESPALIER_TERMINATION_LOG");
    std::filesystem::remove(path_);
  }
  const std::string path_ = testing::TempDir() + "espalier-termination-" + std::to_string(getpid());
};

TEST_F(TerminationTest, HasAllFieldsInOneObject) {
  const TerminationMessage message{.code = ExitCode::kDone,
                                   .message = "trained",
                                   .partition = TerminationMessage::Partition{"abc", 1 << 20, 0.25},
                                   .metrics = {{"testAccuracy", 0.5}, {"bestEpoch", 7}}};
  const auto json = nlohmann::json::parse(TerminationJson(message));
  EXPECT_EQ(json["reason"], "Done");
  EXPECT_EQ(json["exitCode"], 0);
  EXPECT_EQ(json["partition"]["hash"], "abc");
  EXPECT_EQ(json["partition"]["bytes"], 1 << 20);
  EXPECT_EQ(json["partition"]["cut"], 0.25);
  EXPECT_EQ(json["metrics"]["testAccuracy"], 0.5);
  EXPECT_EQ(json["metrics"]["bestEpoch"], 7);
}

TEST_F(TerminationTest, FitsLimitOfKubelet) {
  for (const char* part : {"x", "\x01", "\xff", "\xe2\x82\xac"}) {
    std::string text = "the beginning ";
    while (text.size() < 100000) text += part;
    TerminationMessage message{.code = ExitCode::kBadInput, .message = text + " the end"};
    for (int i = 0; i < 500; ++i) message.metrics.push_back({"metric" + std::to_string(i), i});
    const std::string json = TerminationJson(message);
    EXPECT_LE(json.size(), kMaxTerminationBytes);
    const auto parsed = nlohmann::json::parse(json);
    EXPECT_EQ(parsed["reason"], "BadInput");
    EXPECT_THAT(parsed["message"].get<std::string>(), AllOf(StartsWith("the beginning"), EndsWith("the end")));
  }
}

TEST_F(TerminationTest, UsesPathOfEnvironment) {
  WriteTermination(Unavailable("unreachable"), ExitCode::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(ReadTerminationMessage(path_), "");

  setenv("ESPALIER_TERMINATION_LOG", path_.c_str(), 1);
  std::ofstream(path_) << "something longer that was there before, and which must not show through at the end "
                          "of what is written now, whatever its length";
  WriteTermination(Unavailable("server-1 is gone"), ExitCode::kUnavailable);
  EXPECT_EQ(ReadTerminationMessage(path_), "UNAVAILABLE: server-1 is gone");
}

TEST_F(TerminationTest, ProgramExitsWithCodeOfErrorAndReportsIt) {
  setenv("ESPALIER_TERMINATION_LOG", path_.c_str(), 1);
  EXPECT_EQ(EndOfProgram(Status()), 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
  testing::internal::CaptureStderr();
  EXPECT_EQ(EndOfProgram(InvalidArgument("expected SPLIT EPOCHS")), 65);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "INVALID_ARGUMENT: expected SPLIT EPOCHS\n");
  EXPECT_EQ(ReadTerminationMessage(path_), "INVALID_ARGUMENT: expected SPLIT EPOCHS");
}

TEST_F(TerminationTest, UnwritableFileIsNoError) {
  setenv("ESPALIER_TERMINATION_LOG", "/nowhere/at/all", 1);
  testing::internal::CaptureStderr();
  WriteTermination(Unavailable("x"), ExitCode::kUnavailable);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("/nowhere/at/all"));
}

TEST_F(TerminationTest, AllocationFailureIsNoBug) {
  setenv("ESPALIER_TERMINATION_LOG", path_.c_str(), 1);
  EXPECT_EXIT(
      {
        InstallOutOfMemoryHandler();
        std::thread([] { throw std::bad_alloc(); }).join();
      },
      testing::ExitedWithCode(74), "out of memory: std::bad_alloc");
  EXPECT_THAT(ReadTerminationMessage(path_), HasSubstr("out of memory"));
  EXPECT_EXIT(
      {
        InstallOutOfMemoryHandler();
        std::thread([] { throw std::runtime_error("another"); }).join();
      },
      testing::KilledBySignal(SIGABRT), "another");
}

TEST_F(TerminationTest, InvalidMessageIsEmpty) {
  std::ofstream(path_) << R"({"message": 7})";
  EXPECT_EQ(ReadTerminationMessage(path_), "");
  std::ofstream(path_) << "plain words";
  EXPECT_THAT(ReadTerminationMessage(path_), Not(HasSubstr("plain")));
}

}  // namespace
}  // namespace espalier::telemetry
