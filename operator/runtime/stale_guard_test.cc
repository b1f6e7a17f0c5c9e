#include "operator/runtime/stale_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::runtime {
namespace {

using kube::kJobs;
using kube::kPods;

const kube::ObjectKey kCora{"default", "cora"};
const kube::ObjectKey kOgbn{"default", "ogbn"};

// Returns a function that returns the version of a resource in the informers' cache: that of its plural, or "".
std::function<std::string(const kube::Resource&)> CachedVersions(
    std::map<std::string, std::string, std::less<>> versions) {
  return [versions](const kube::Resource& resource) {
    const auto it = versions.find(resource.plural);
    return it == versions.end() ? std::string() : it->second;
  };
}

class StaleGuardTest : public testing::Test {
 protected:
  FakeClock clock;
  StaleGuard guard{std::chrono::seconds(30), clock};
};

TEST_F(StaleGuardTest, OwnerWithoutWritesIsFresh) {
  EXPECT_TRUE(guard.IsFresh(kCora, [](const kube::Resource&) -> std::string {
    ADD_FAILURE() << "nothing to look up";
    return "";
  }));
}

TEST_F(StaleGuardTest, WaitsUntilTheCacheHasSeenTheWrite) {
  guard.Wrote(kCora, kJobs, "100");

  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({{"jobs", "99"}})));
  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({})));
  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"jobs", "100"}})));
}

TEST_F(StaleGuardTest, ComparesVersionsAsNumbersOfAnyLength) {
  guard.Wrote(kCora, kJobs, "99999999999999999999999");

  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({{"jobs", "9"}})));
  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"jobs", "100000000000000000000000"}})));
}

TEST_F(StaleGuardTest, EveryKindMustShowItsWrite) {
  guard.Wrote(kCora, kJobs, "100");
  guard.Wrote(kCora, kPods, "101");

  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({{"jobs", "200"}, {"pods", "100"}})));
  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"pods", "101"}}))) << "what jobs showed is remembered";
}

TEST_F(StaleGuardTest, NewestWriteCountsInAnyOrder) {
  guard.Wrote(kCora, kJobs, "100");
  guard.Wrote(kCora, kJobs, "99");

  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({{"jobs", "99"}})));
  guard.Wrote(kCora, kJobs, "102");
  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({{"jobs", "101"}})));
  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"jobs", "102"}})));
}

TEST_F(StaleGuardTest, OwnersDoNotWaitForEachOther) {
  guard.Wrote(kCora, kJobs, "100");

  EXPECT_TRUE(guard.IsFresh(kOgbn, CachedVersions({})));
}

TEST_F(StaleGuardTest, UnseenWriteExpires) {
  guard.Wrote(kCora, kJobs, "100");
  clock.Advance(std::chrono::seconds(29));
  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({{"jobs", "5"}})));

  clock.Advance(std::chrono::seconds(1));

  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"jobs", "5"}})));
}

TEST_F(StaleGuardTest, IncomparableVersionsMustBeEqualOrExpired) {
  guard.Wrote(kCora, kJobs, "v1-abc");

  EXPECT_FALSE(guard.IsFresh(kCora, CachedVersions({{"jobs", "v1-abb"}})));
  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"jobs", "v1-abc"}})));
  guard.Wrote(kCora, kJobs, "v1-abd");
  clock.Advance(std::chrono::seconds(30));
  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"jobs", "v1-xyz"}})));
}

TEST_F(StaleGuardTest, ADeletedOwnerIsForgotten) {
  guard.Wrote(kCora, kJobs, "100");
  guard.Forget(kCora);

  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({})));
}

TEST_F(StaleGuardTest, WriteBetweenCheckAndForgetIsKept) {
  guard.Wrote(kCora, kJobs, "100");

  // Another thread writes while IsFresh reads the version of the cache.
  EXPECT_FALSE(guard.IsFresh(kCora, [&](const kube::Resource&) {
    guard.Wrote(kCora, kJobs, "101");
    return std::string("100");
  }));
  EXPECT_TRUE(guard.IsFresh(kCora, CachedVersions({{"jobs", "101"}})));
}

}  // namespace
}  // namespace espalier::ctl::runtime
