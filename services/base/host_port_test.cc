#include "services/base/host_port.h"

#include <gmock/gmock.h>

namespace espalier {
namespace {

using ::testing::HasSubstr;

TEST(HostPortTest, ParsesHostAndPort) {
  EXPECT_EQ(ParseHostPort("127.0.0.1:7000")->host, "127.0.0.1");
  EXPECT_EQ(ParseHostPort("127.0.0.1:7000")->port, 7000);
  EXPECT_EQ(ParseHostPort("cora-trainer-0.cora:7000")->port, 7000);
  EXPECT_EQ(ParseHostPort("[::1]:7000")->host, "::1");
  EXPECT_EQ(ToString(*ParseHostPort("[::1]:7000")), "[::1]:7000");
  EXPECT_EQ(ToString(*ParseHostPort("localhost:0")), "localhost:0");
}

TEST(HostPortTest, NamesProblem) {
  for (const char* address :
       {"", "7000", ":7000", "host:", "host:x", "host:70000", "host:-1", "::1:7000", "host:1 ", "[]:1"}) {
    const auto parsed = ParseHostPort(address);
    ASSERT_FALSE(parsed.ok()) << address;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(parsed.status().message(), HasSubstr("'" + std::string(address) + "'"));
  }
}

TEST(HostPortTest, RecognizesLoopback) {
  for (const char* host : {"127.0.0.1", "127.3.2.1", "localhost", "::1"}) EXPECT_TRUE(IsLoopback(host)) << host;
  for (const char* host : {"0.0.0.0", "10.0.0.1", "::", "example.com", "127.example.com", "localhost.evil"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace espalier
