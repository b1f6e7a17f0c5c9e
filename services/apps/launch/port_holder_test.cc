#include "services/apps/launch/port_holder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "services/rpc/address.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::launch {
namespace {

using testing::HasSubstr;

// A socket of this process, at a port that the kernel picked.
class Listening {
 public:
  explicit Listening(const std::string& host) {
    auto socket = telemetry::ListenOn(host + ":0");
    if (!socket.ok()) return;
    descriptor_ = socket->descriptor;
    port_ = rpc::ParseHostPort(socket->address)->port;
  }
  ~Listening() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool ok() const { return descriptor_ >= 0; }
  uint16_t port() const { return port_; }

 private:
  int descriptor_ = -1;
  uint16_t port_ = 0;
};

TEST(PortHolderTest, NamesTheProcess) {
  const Listening socket("127.0.0.1");
  ASSERT_TRUE(socket.ok());
  const auto holder = PortHolder("127.0.0.1", socket.port());
  ASSERT_TRUE(holder.has_value());
  EXPECT_THAT(*holder, HasSubstr("process " + std::to_string(getpid()) + " ("));
}

TEST(PortHolderTest, ASocketOnAllAddressesIsInEverybodysWay) {
  const Listening socket("[::]");
  ASSERT_TRUE(socket.ok());
  EXPECT_TRUE(PortHolder("127.0.0.1", socket.port()).has_value());
  EXPECT_TRUE(PortHolder("10.9.8.7", socket.port()).has_value());
}

TEST(PortHolderTest, ASocketOnAnotherAddressIsNot) {
  const Listening socket("127.0.0.1");
  ASSERT_TRUE(socket.ok());
  EXPECT_EQ(PortHolder("127.0.0.2", socket.port()), std::nullopt);
}

TEST(PortHolderTest, NobodyHoldsAPortThatWasLetGo) {
  uint16_t port = 0;
  {
    const Listening socket("127.0.0.3");
    ASSERT_TRUE(socket.ok());
    port = socket.port();
  }
  EXPECT_EQ(PortHolder("127.0.0.3", port), std::nullopt);
}

TEST(IsTakenTest, SaysWhatBindWouldSay) {
  const Listening socket("127.0.0.1");
  ASSERT_TRUE(socket.ok());
  EXPECT_TRUE(IsTaken("127.0.0.1", socket.port()));
  EXPECT_FALSE(IsTaken("127.0.0.2", socket.port()));
  EXPECT_FALSE(IsTaken("somewhere", socket.port()));
}

// /proc does not say for which family a socket on all addresses is.
TEST(IsTakenTest, ASocketOfTheOtherFamilyAloneIsInNobodysWay) {
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

}  // namespace
}  // namespace espalier::launch
