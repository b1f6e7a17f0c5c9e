#include "services/base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace espalier {
namespace {

TEST(ClockTest, RealClockOutlivesStaticDestructors) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which the clock has not been used yet
  EXPECT_EXIT(
      {
        // Runs after the destructors of objects created from here on, as a gRPC thread may.
        std::atexit([] { std::_Exit(Deadline::After(std::chrono::hours(1)).HasPassed() ? 1 : 17); });
        Clock::Real();
        std::exit(0);
      },
      ::testing::ExitedWithCode(17), "");
}

}  // namespace
}  // namespace espalier
