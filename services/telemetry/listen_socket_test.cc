#include "services/telemetry/listen_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "services/base/host_port.h"
#include "services/telemetry/testing/raw_connection.h"

namespace espalier::telemetry {
namespace {

using testing::StartsWith;

// Listens on an address of this machine; the caller closes the socket.
ListenSocket Listening(const std::string& address) {
  Result<ListenSocket> listening = ListenOn(address);
  ESPALIER_CHECK(listening.ok()) << listening.status().ToString();
  return *std::move(listening);
}

bool Accepts(const ListenSocket& socket, const std::string& host) {
  const RawConnection connection(host + ":" + std::to_string(ParseHostPort(socket.address)->port));
  const int accepted = accept(socket.descriptor, nullptr, nullptr);
  if (accepted >= 0) close(accepted);
  return accepted >= 0;
}

// Clusters have IPv4, IPv6 or both: one listen address must work for all.
TEST(ListenSocketTest, ListensOnEveryAddressOfBothFamilies) {
  const ListenSocket any = Listening("[::]:0");
  EXPECT_TRUE(Accepts(any, "127.0.0.1"));
  const bool has_ipv6 = any.address.starts_with("[::]:");
  if (has_ipv6 && access("/proc/net/if_inet6", R_OK) == 0) {
    EXPECT_TRUE(Accepts(any, "[::1]"));
  }
  close(any.descriptor);
}

TEST(ListenSocketTest, ListensOnGivenAddressOnly) {
  const ListenSocket one = Listening("127.0.0.1:0");
  EXPECT_THAT(one.address, StartsWith("127.0.0.1:"));
  EXPECT_TRUE(Accepts(one, "127.0.0.1"));
  close(one.descriptor);
}

TEST(ListenSocketTest, NamesTakenAddress) {
  const ListenSocket first = Listening("127.0.0.1:0");
  const Status second = ListenOn(first.address).status();
  EXPECT_EQ(second, FromErrno(EADDRINUSE, "listening on " + first.address));
  close(first.descriptor);
}

}  // namespace
}  // namespace espalier::telemetry
