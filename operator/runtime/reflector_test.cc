// Tests the state machine of list and watch: the next action and its delay after each kind of outcome.
#include "operator/runtime/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::runtime {
namespace {

using kube::WatchEventType;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ReflectorStep kList = ReflectorStep::kList;
constexpr ReflectorStep kWatch = ReflectorStep::kWatch;

kube::WatchEvent Event(WatchEventType type, const std::string& version) {
  return {type, {{"metadata", {{"name", "a"}, {"resourceVersion", version}}}}};
}
kube::WatchEvent Error(int code, const std::string& reason) {
  return {WatchEventType::kError, {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", "because"}}};
}

class ReflectorTest : public testing::Test {
 protected:
  // Checks the next step, with any delay.
  void ExpectNext(ReflectorStep step, const std::string& version) {
    EXPECT_EQ(reflector.Next().step, step);
    EXPECT_EQ(reflector.Next().resource_version, version);
  }
  // Checks the delay after the nth failure in a row.
  void ExpectDelayOfFailure(int n) {
    const milliseconds step = std::min<milliseconds>(milliseconds(800) * (1 << std::min(n - 1, 10)), seconds(30));
    EXPECT_GE(reflector.Next().delay, step / 2) << "failure " << n;
    EXPECT_LE(reflector.Next().delay, step) << "failure " << n;
  }
  void Apply(WatchEventType type, const std::string& version) { EXPECT_TRUE(reflector.OnEvent(Event(type, version))); }

  Reflector reflector{1};
};

class ListedReflectorTest : public ReflectorTest {
 protected:
  ListedReflectorTest() { reflector.OnListed("100"); }
};

TEST_F(ReflectorTest, ListsTheNewestAndWatchesFromThatList) {
  EXPECT_EQ(reflector.Next(), (ReflectorAction{kList, ""}));
  EXPECT_FALSE(reflector.has_listed());

  reflector.OnListed("100");

  EXPECT_TRUE(reflector.has_listed());
  EXPECT_EQ(reflector.Next(), (ReflectorAction{kWatch, "100"}));
}

TEST_F(ReflectorTest, FailedListIsRetriedWithBackoff) {
  for (int n = 1; n <= 12; ++n) {
    reflector.OnListFailed();
    ExpectNext(kList, "");
    ExpectDelayOfFailure(n);
  }
}

TEST_F(ReflectorTest, DelaysDifferFromReflectorToReflector) {
  Reflector other(2);
  bool differs = false;
  for (int n = 1; n <= 5; ++n) {
    reflector.OnListFailed();
    other.OnListFailed();
    differs = differs || reflector.Next().delay != other.Next().delay;
  }
  EXPECT_TRUE(differs);
}

TEST_F(ListedReflectorTest, EventsAndBookmarksAdvanceTheVersion) {
  Apply(WatchEventType::kAdded, "101");
  EXPECT_EQ(reflector.resource_version(), "101");
  Apply(WatchEventType::kModified, "103");
  Apply(WatchEventType::kDeleted, "104");
  EXPECT_EQ(reflector.resource_version(), "104");
  Apply(WatchEventType::kBookmark, "250");

  reflector.OnWatchEnded({}, seconds(60), {.num_events = 4});

  EXPECT_EQ(reflector.Next(), (ReflectorAction{kWatch, "250"}));
}

TEST_F(ListedReflectorTest, TheVersionNeverGoesBackByAnEvent) {
  Apply(WatchEventType::kModified, "99");
  EXPECT_EQ(reflector.resource_version(), "100");
  Apply(WatchEventType::kModified, "");
  EXPECT_EQ(reflector.resource_version(), "100");
  reflector.OnListed("7");  // for example after the store was restored from a backup
  EXPECT_EQ(reflector.resource_version(), "7");
}

TEST_F(ReflectorTest, AddedEventsOfAWatchWithoutVersionDoNotSetTheVersion) {
  for (const char* from : {"", "0"}) {
    reflector.OnListed(from);
    Apply(WatchEventType::kAdded, "500");
    Apply(WatchEventType::kAdded, "300");
    EXPECT_EQ(reflector.resource_version(), from) << "else what lies between would be missed";
    Apply(WatchEventType::kBookmark, "510");
    Apply(WatchEventType::kAdded, "520");
    EXPECT_EQ(reflector.resource_version(), "520");
  }
}

TEST_F(ListedReflectorTest, OpeningRefusedOrThrottledKeepsTheVersionAndDoesNotList) {
  const Status passing[] = {Unavailable("connection refused"), ResourceExhausted("429"), DeadlineExceeded(""),
                            Status(StatusCode::kUnauthenticated, ""), Status(StatusCode::kPermissionDenied, "")};
  for (int n = 1; n <= 10; ++n) {
    reflector.OnWatchFailed(passing[n % 5]);
    ExpectNext(kWatch, "100");
    ExpectDelayOfFailure(n);
  }
}

TEST_F(ListedReflectorTest, AnExpiredVersionAsStatusListsTheNewest) {
  reflector.OnWatchFailed(OutOfRange("410"));

  ExpectNext(kList, "");
  EXPECT_EQ(reflector.Next().delay, milliseconds(0));
}

TEST_F(ListedReflectorTest, AnExpiredVersionAsErrorEventListsTheNewest) {
  EXPECT_FALSE(reflector.OnEvent(Error(410, "Expired")));
  reflector.OnWatchEnded(OutOfRange("410"), milliseconds(20), {.num_events = 1});

  ExpectNext(kList, "");
  EXPECT_EQ(reflector.Next().delay, milliseconds(0));
}

TEST_F(ListedReflectorTest, ExpiredVersionAfterOutageResetsDelay) {
  for (int n = 1; n <= 6; ++n) reflector.OnWatchFailed(Unavailable("connection refused"));
  reflector.OnWatchFailed(OutOfRange("410"));
  ExpectNext(kList, "");
  EXPECT_EQ(reflector.Next().delay, milliseconds(0));

  reflector.OnListed("200");
  reflector.OnWatchEnded(Status(), kHealthyWatch, {.num_events = 1});
  reflector.OnWatchFailed(OutOfRange("410"));
  EXPECT_EQ(reflector.Next().delay, milliseconds(0)) << "a watch has lasted in between";
}

TEST_F(ListedReflectorTest, GoneErrorEventIsExpired) {
  EXPECT_FALSE(reflector.OnEvent(Error(410, "Gone")));
  reflector.OnWatchEnded(OutOfRange("410"), milliseconds(20), {.num_events = 1});

  ExpectNext(kList, "");
}

TEST_F(ListedReflectorTest, RepeatedExpirationBacksOffFromSecondTime) {
  for (int n = 1; n <= 8; ++n) {
    EXPECT_FALSE(reflector.OnEvent(Error(410, "Expired")));
    reflector.OnWatchEnded(OutOfRange("410"), milliseconds(5), {.num_events = 1});
    if (n == 1) {
      EXPECT_EQ(reflector.Next().delay, milliseconds(0));
    } else {
      ExpectDelayOfFailure(n - 1);
    }
    reflector.OnListed(std::to_string(100 + n));
    EXPECT_EQ(reflector.Next().delay, milliseconds(0));
  }
}

TEST_F(ListedReflectorTest, StaleServerIsListedWithoutVersion) {
  reflector.OnWatchFailed(FailedPrecondition("ResourceVersionTooLarge"));

  ExpectNext(kList, "");
}

TEST_F(ListedReflectorTest, UnsupportedVersionIsDropped) {
  reflector.OnWatchFailed(InvalidArgument("invalid resource version"));

  ExpectNext(kList, "");
}

TEST_F(ListedReflectorTest, RepeatedInternalErrorEventsRelist) {
  for (int n = 1; n < kMaxErrorEvents; ++n) {
    EXPECT_FALSE(reflector.OnEvent(Error(500, "InternalError")));
    reflector.OnWatchEnded(Unavailable("500"), milliseconds(5), {.num_events = 1});
    ExpectNext(kWatch, "100");
    ExpectDelayOfFailure(n);
  }
  EXPECT_FALSE(reflector.OnEvent(Error(500, "InternalError")));
  reflector.OnWatchEnded(Unavailable("500"), milliseconds(5), {.num_events = 1});
  ExpectNext(kList, "");
}

TEST_F(ListedReflectorTest, OtherEventResetsErrorCount) {
  for (int n = 0; n < 3 * kMaxErrorEvents; ++n) {
    Apply(WatchEventType::kModified, std::to_string(200 + n));
    EXPECT_FALSE(reflector.OnEvent(Error(500, "InternalError")));
    reflector.OnWatchEnded(Unavailable("500"), milliseconds(5), {.num_events = 2});
    ExpectNext(kWatch, std::to_string(200 + n));
  }
}

TEST_F(ListedReflectorTest, AVeryShortWatchBacksOff) {
  reflector.OnWatchEnded({}, milliseconds(999), {.num_events = 0});
  ExpectNext(kWatch, "100");
  ExpectDelayOfFailure(1);
  reflector.OnWatchEnded({}, milliseconds(1), {.num_events = 0});
  ExpectDelayOfFailure(2);

  reflector.OnWatchEnded({}, milliseconds(1), {.num_events = 1});
  EXPECT_EQ(reflector.Next().delay, milliseconds(0)) << "it brought something";
  reflector.OnWatchEnded({}, seconds(1), {.num_events = 0});
  EXPECT_EQ(reflector.Next().delay, milliseconds(0)) << "it lasted";
}

TEST_F(ListedReflectorTest, UnreadableWatchesBackOffAndRelist) {
  constexpr WatchTally kGarbage{.num_garbled = 1000};
  for (int n = 1; n < kMaxGarbledWatches; ++n) {
    reflector.OnWatchEnded({}, seconds(60), kGarbage);
    ExpectNext(kWatch, "100");
    ExpectDelayOfFailure(n);
  }
  reflector.OnWatchEnded({}, seconds(60), kGarbage);
  ExpectNext(kList, "");
  ExpectDelayOfFailure(kMaxGarbledWatches);
}

TEST_F(ListedReflectorTest, OneReadableEventMakesWatchHealthy) {
  for (int n = 0; n < 3 * kMaxGarbledWatches; ++n) {
    reflector.OnWatchEnded({}, milliseconds(5), {.num_events = 1, .num_garbled = 1000});
    EXPECT_EQ(reflector.Next(), (ReflectorAction{kWatch, "100"}));
  }
}

TEST_F(ListedReflectorTest, BrokenWatchResumesFromNewestVersionAfterDelay) {
  Apply(WatchEventType::kModified, "120");
  reflector.OnWatchEnded(Unavailable("reset"), seconds(10), {.num_events = 1});

  ExpectNext(kWatch, "120");
  ExpectDelayOfFailure(1);
}

TEST_F(ListedReflectorTest, TooLongLineRelists) {
  reflector.OnWatchEnded(ResourceExhausted("line"), seconds(10), {.num_events = 3});

  ExpectNext(kList, "");
  ExpectDelayOfFailure(1);
}

TEST_F(ListedReflectorTest, HealthyWatchResetsDelays) {
  for (int n = 1; n <= 6; ++n) reflector.OnWatchFailed(Unavailable("refused"));
  ExpectDelayOfFailure(6);

  reflector.OnWatchEnded({}, seconds(5), {.num_events = 1});
  reflector.OnWatchFailed(Unavailable("refused"));
  ExpectDelayOfFailure(7);
  reflector.OnWatchEnded(Unavailable("reset"), kHealthyWatch, {.num_events = 1});
  ExpectDelayOfFailure(1);
}

}  // namespace
}  // namespace espalier::ctl::runtime
