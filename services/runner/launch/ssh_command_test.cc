#include "services/runner/launch/ssh_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(SshCommandTest, QuotesArgumentsForShell) {
  const auto arguments = MakeSshArguments({}, "10.0.0.1", {"/opt/my espalier/bin/espalier", "host", "it's"});
  ASSERT_GE(arguments.size(), 3u);
  EXPECT_EQ(arguments[arguments.size() - 3], "--");
  EXPECT_EQ(arguments[arguments.size() - 2], "10.0.0.1");
  EXPECT_EQ(arguments.back(), R"(exec '/opt/my espalier/bin/espalier' host 'it'\''s')");
}

TEST(SshCommandTest, BatchModeKeepsUserHostKeyChecks) {
  const auto arguments = MakeSshArguments({}, "h", {"x"});
  EXPECT_THAT(arguments, Contains("BatchMode=yes"));
  EXPECT_THAT(arguments, Contains("ConnectTimeout=10"));
  EXPECT_THAT(arguments, Not(Contains(HasSubstr("StrictHostKeyChecking"))));
}

// ssh uses the first value of a setting.
TEST(SshCommandTest, UserOptionsComeFirst) {
  const auto arguments = MakeSshArguments({.settings = {"ConnectTimeout=1"}}, "h", {"x"});
  const auto own = std::find(arguments.begin(), arguments.end(), "ConnectTimeout=10");
  const auto users = std::find(arguments.begin(), arguments.end(), "ConnectTimeout=1");
  EXPECT_LT(users - arguments.begin(), own - arguments.begin());
}

TEST(SshCommandTest, UserPortAndKey) {
  const auto arguments = MakeSshArguments({.user = "ann", .port = 2222, .identity_file = "/k"}, "h", {"x"});
  for (const char* word : {"-l", "ann", "-p", "2222", "-i", "/k"}) EXPECT_THAT(arguments, Contains(word));
}

TEST(SshFailureTest, DistinguishesRefusedFromUnreachable) {
  const auto failure = [](int code, const std::string& said) { return SshFailure("h", "/e", {code, 0}, said); };
  EXPECT_EQ(failure(255, "ann@h: Permission denied (publickey).\r\n").code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(failure(255, "Host key verification failed.\n").code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(failure(255, "ssh: connect to host h port 22: No route to host").code(), StatusCode::kUnavailable);
  EXPECT_EQ(failure(127, "sh: 1: exec: /e: not found").code(), StatusCode::kNotFound);
  EXPECT_EQ(failure(64, "The following argument was not expected: host").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(failure(75, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(failure(255, "a\x1b[31m\nb\n").message(), "ssh to h failed: a [31m b");
}

}  // namespace
}  // namespace espalier::launch
