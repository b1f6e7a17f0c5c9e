#include "services/runner/launch/heartbeat.h"

#include <gtest/gtest.h>

#include "services/base/testing/fake_clock.h"

namespace espalier::launch {
namespace {

using std::chrono::milliseconds;

TEST(SilenceTest, GrowsUntilBytesArrive) {
  FakeClock clock;
  SilenceTimer silence(clock);
  clock.Advance(milliseconds(300));
  EXPECT_EQ(silence.Update(0), milliseconds(300));
  clock.Advance(milliseconds(300));
  EXPECT_EQ(silence.Update(0), milliseconds(600));
  clock.Advance(milliseconds(300));
  EXPECT_EQ(silence.Update(1), milliseconds(0));
  clock.Advance(milliseconds(300));
  EXPECT_EQ(silence.Update(1), milliseconds(300));
}

TEST(SilenceTest, SuspendedProcessCountsAtMostOneInterval) {
  FakeClock clock;
  SilenceTimer silence(clock);
  clock.Advance(std::chrono::hours(8));
  EXPECT_EQ(silence.Update(0), std::chrono::seconds(2));
}

}  // namespace
}  // namespace espalier::launch
