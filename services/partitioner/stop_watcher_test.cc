#include "services/partitioner/stop_watcher.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace espalier::partitioner {
namespace {

// Runs in a child process whose main thread never checks for a stop, as in METIS.
TEST(StopWatcherDeathTest, EndsAProcessThatDoesNotEndByItself) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const int signal_number : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          const StopWatcher stop(std::chrono::milliseconds(0));
          kill(getpid(), signal_number);
          while (true) pause();
        },
        ::testing::ExitedWithCode(75), "asked to stop");
  }
}

TEST(StopWatcherDeathTest, RespondingProcessEndsByItself) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        {
          const StopWatcher stop(std::chrono::hours(1));
          kill(getpid(), SIGTERM);
          while (!stop.requested()) std::this_thread::yield();
        }
        _exit(3);
      },
      ::testing::ExitedWithCode(3), "asked to stop");
}

TEST(StopWatcherDeathTest, CallsCallbackBeforeExit) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        {
          const StopWatcher stop(std::chrono::milliseconds(0), [] { std::fputs("removed\n", stderr); });
          kill(getpid(), SIGINT);
          while (!stop.requested()) std::this_thread::yield();
        }  // the destructor blocks while the watcher ends the process
        _exit(3);
      },
      ::testing::ExitedWithCode(75), "removed");
}

TEST(StopWatcherTest, EndsWithoutSignal) {
  const StopWatcher stop(std::chrono::hours(1));
  EXPECT_FALSE(stop.requested());
}

}  // namespace
}  // namespace espalier::partitioner
