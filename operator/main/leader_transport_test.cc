#include "operator/main/leader_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/client/testing/scripted_transport.h"

namespace espalier::ctl::process {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Deadline kSoon = Deadline::After(std::chrono::seconds(10));

TEST(LeadersTransportTest, FollowerWritesNothing) {
  client::ScriptedTransport inner;
  LeaderTransport transport(inner, [] { return false; });
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    EXPECT_EQ(transport.Send({.method = method, .target = "/x"}, kSoon).status().code(), StatusCode::kCancelled);
  }
  EXPECT_THAT(inner.requests(), IsEmpty());
}

TEST(LeadersTransportTest, FollowerReads) {
  client::ScriptedTransport inner;
  inner.Then(200, "{}");
  inner.ThenStream({"{}"});
  LeaderTransport transport(inner, [] { return false; });
  EXPECT_TRUE(transport.Send({.method = "GET", .target = "/x"}, kSoon).ok());
  EXPECT_TRUE(transport.Open({.method = "GET", .target = "/x?watch=true"}, kSoon).ok());
}

TEST(LeadersTransportTest, EachWriteChecksLeadership) {
  client::ScriptedTransport inner;
  inner.Then(200, "{}");
  bool leads = true;
  LeaderTransport transport(inner, [&] { return leads; });
  EXPECT_TRUE(transport.Send({.method = "PATCH", .target = "/x"}, kSoon).ok());
  leads = false;
  EXPECT_FALSE(transport.Send({.method = "PATCH", .target = "/x"}, kSoon).ok());
  EXPECT_THAT(inner.requests(), SizeIs(1));
}

}  // namespace
}  // namespace espalier::ctl::process
