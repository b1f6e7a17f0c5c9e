#include "services/telemetry/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace espalier::telemetry {
namespace {

using testing::HasSubstr;

std::filesystem::path FreshFolder(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / (name + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

bool IsReadable(int descriptor) {
  pollfd polled{descriptor, POLLIN, 0};
  return poll(&polled, 1, 0) == 1;
}

TEST(StopSignalTest, ASignalSetsTheFlagAndTheDescriptor) {
  StopSignal& stop = StopSignal::Install();
  stop.ResetForTesting();
  EXPECT_FALSE(stop.requested());
  EXPECT_FALSE(IsReadable(stop.descriptor()));
  EXPECT_FALSE(stop.WaitUntil(Deadline::After(std::chrono::milliseconds(1))));

  raise(SIGTERM);
  raise(SIGINT);

  EXPECT_TRUE(stop.requested());
  EXPECT_EQ(stop.signal_number(), SIGTERM);
  EXPECT_TRUE(IsReadable(stop.descriptor()));
  EXPECT_TRUE(stop.WaitUntil(Deadline::After(std::chrono::hours(1))));
  stop.Wait();
  stop.ResetForTesting();
  EXPECT_FALSE(stop.requested());
}

TEST(StopSignalTest, SecondSignalEndsProcessIfConfigured) {
  EXPECT_EXIT(
      {
        StopSignal& stop = StopSignal::Install();
        stop.ResetForTesting();
        stop.ExitOnSecond(75);
        raise(SIGTERM);
        if (!stop.requested()) _exit(1);
        raise(SIGINT);
        _exit(2);
      },
      testing::ExitedWithCode(75), "");
}

TEST(StopSignalTest, PendingBlockedSignalIsHandled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which they are not installed
  EXPECT_EXIT(
      {
        sigset_t both;
        sigemptyset(&both);
        sigaddset(&both, SIGTERM);
        sigaddset(&both, SIGINT);
        sigprocmask(SIG_BLOCK, &both, nullptr);
        raise(SIGTERM);
        const StopSignal& stop = StopSignal::Install();
        if (!stop.requested() || stop.signal_number() != SIGTERM) _exit(1);
        sigset_t blocked;
        sigprocmask(SIG_SETMASK, nullptr, &blocked);
        _exit(sigismember(&blocked, SIGTERM) == 0 && sigismember(&blocked, SIGINT) == 0 ? 75 : 2);
      },
      testing::ExitedWithCode(75), "");
}

TEST(ReadyFileTest, RoundTrips) {
  const std::string path = FreshFolder("ready") / "server-0.json";
  EXPECT_EQ(ReadReadyFile(path).status().code(), StatusCode::kNotFound);
  const ReadyFile ready{
      .address = "127.0.0.1:1", .admin_address = "127.0.0.1:2", .rendezvous = "127.0.0.1:3", .pid = 17};

  ASSERT_TRUE(WriteReadyFile(path, ready).ok());

  const Result<ReadyFile> read = ReadReadyFile(path);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, ready);
}

TEST(ReadyFileTest, FillsInTheProcessId) {
  const std::string path = FreshFolder("ready-pid") / "r.json";
  ASSERT_TRUE(WriteReadyFile(path, {}).ok());

  EXPECT_EQ(ReadReadyFile(path)->pid, getpid());
}

TEST(ReadyFileTest, NamesInvalidFile) {
  const std::string path = FreshFolder("ready-bad") / "r.json";
  std::ofstream(path) << "[1,2";
  EXPECT_THAT(ReadReadyFile(path).status().message(), HasSubstr("r.json: not a JSON object"));
  std::ofstream(path) << "{\"pid\":\"x\"}";
  EXPECT_THAT(ReadReadyFile(path).status().message(), HasSubstr("pid is not an integer"));
}

TEST(WriteFileAtomicallyTest, LeavesNoOtherFiles) {
  const std::filesystem::path folder = FreshFolder("atomic");
  ASSERT_TRUE(WriteFileAtomically(folder / "a", "one").ok());
  ASSERT_TRUE(WriteFileAtomically(folder / "a", "two").ok());

  std::ifstream file(folder / "a");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const Status missing = WriteFileAtomically(folder / "no" / "b", "x");
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("no/b"));
}

TEST(WriteFileAtomicallyTest, FailedRenameLeavesNoFiles) {
  const std::filesystem::path folder = FreshFolder("rename");
  std::filesystem::create_directories(folder / "target" / "inside");

  const Status status = WriteFileAtomically(folder / "target", "x");  // a folder cannot be replaced by a file

  EXPECT_THAT(status.message(), HasSubstr("renaming to"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace espalier::telemetry
