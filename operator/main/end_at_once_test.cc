#include "operator/main/end_at_once.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace espalier::ctl::process {
namespace {

constexpr unsigned kTimeoutSeconds = 30;

// Makes stderr a full pipe without a reader that empties it.
void FillStderr() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::array<char, 4096> bytes{};
  while (write(ends[1], bytes.data(), bytes.size()) > 0) {
  }
  while (write(ends[1], bytes.data(), 1) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
}

TEST(EndAtOnceDeathTest, PrintsReasonAndExitsWithCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(EndAtOnce("the lease is lost\n", ExitCode::kUnavailable), testing::ExitedWithCode(74),
              "the lease is lost");
}

TEST(EndAtOnceDeathTest, ExitsIfStderrIsBlocked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [] {
    alarm(kTimeoutSeconds);  // kills the process if it hangs
    FillStderr();
    EndAtOnce("the lease is lost\n", ExitCode::kUnavailable);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(74), "");
}

}  // namespace
}  // namespace espalier::ctl::process
