#include "services/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace espalier::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LogTest, WritesWholeLinesFromManyThreads) {
  InitializeLogging({.format = LogFormat::kJson, .process_fields = {{"role", "test"}}});
  testing::internal::CaptureStderr();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 50; ++i) Log(Level::kInfo, "line", {{"thread", t}, {"i", i}});
      });
    }
  }
  std::istringstream lines(testing::internal::GetCapturedStderr());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_EQ(nlohmann::json::parse(line)["role"], "test");
  EXPECT_EQ(count, 200);
}

TEST(LogTest, DropsLinesBelowLevelAndKeepsProcessFields) {
  InitializeLogging(
      {.format = LogFormat::kText, .level = Level::kWarning, .process_fields = {{"rank", 3}, {"partition", 1}}});
  testing::internal::CaptureStderr();
  Log(Level::kInfo, "hidden");
  Log(Level::kError, "shown", {{"why", NotFound("no such file")}});
  const std::string text = testing::internal::GetCapturedStderr();

  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, HasSubstr("ERROR shown rank=3 partition=1 why=\"NOT_FOUND: no such file\"\n"));
}

}  // namespace
}  // namespace espalier::telemetry
