#include "services/runner/run/local_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "services/base/host_port.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::run {
namespace {

TEST(IsTakenTest, AgreesWithBind) {
  auto socket = telemetry::ListenOn("127.0.0.1:0");
  ASSERT_TRUE(socket.ok());
  const uint16_t port = ParseHostPort(socket->address)->port;
  EXPECT_TRUE(IsTaken("127.0.0.1", port));
  EXPECT_FALSE(IsTaken("127.0.0.2", port));
  EXPECT_FALSE(IsTaken("somewhere", port));
  close(socket->descriptor);
}

// /proc does not show whether an IPv6 socket on all addresses also accepts IPv4.
TEST(IsTakenTest, IgnoresSocketsOfOtherFamily) {
  const int only_v6 = socket(AF_INET6, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(only_v6, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t bytes = sizeof(address);
  const bool listens = bind(only_v6, reinterpret_cast<sockaddr*>(&address), bytes) == 0 && listen(only_v6, 1) == 0 &&
                       getsockname(only_v6, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
  if (!listens) GTEST_SKIP() << "no IPv6 here";
  EXPECT_FALSE(IsTaken("127.0.0.1", ntohs(address.sin6_port)));
  close(only_v6);
}

TEST(FindFreePortTest, ASocketCanBeBoundToIt) {
  const Result<uint16_t> port = FindFreePort("127.0.0.1");
  ASSERT_TRUE(port.ok());
  EXPECT_LT(*port, 32768);
  auto socket = telemetry::ListenOn("127.0.0.1:" + std::to_string(*port));
  ASSERT_TRUE(socket.ok()) << socket.status().message();
  EXPECT_TRUE(IsTaken("127.0.0.1", *port));
  close(socket->descriptor);
}

}  // namespace
}  // namespace espalier::run
