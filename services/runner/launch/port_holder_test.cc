#include "services/runner/launch/port_holder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "services/base/host_port.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::launch {
namespace {

using testing::HasSubstr;

// A listening socket of this process on a free port.
class Listening {
 public:
  explicit Listening(const std::string& host) {
    auto socket = telemetry::ListenOn(host + ":0");
    if (!socket.ok()) return;
    descriptor_ = socket->descriptor;
    port_ = ParseHostPort(socket->address)->port;
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
  const auto holder = FindPortHolder("127.0.0.1", socket.port());
  ASSERT_TRUE(holder.has_value());
  EXPECT_THAT(*holder, HasSubstr("process " + std::to_string(getpid()) + " ("));
}

TEST(PortHolderTest, SocketOnAllAddressesHoldsPort) {
  const Listening socket("[::]");
  ASSERT_TRUE(socket.ok());
  EXPECT_TRUE(FindPortHolder("127.0.0.1", socket.port()).has_value());
  EXPECT_TRUE(FindPortHolder("10.9.8.7", socket.port()).has_value());
}

TEST(PortHolderTest, SocketOnAllIPv4AddressesDoesNotHoldPortOfIPv6) {
  const Listening socket("0.0.0.0");
  ASSERT_TRUE(socket.ok());
  EXPECT_TRUE(FindPortHolder("10.9.8.7", socket.port()).has_value());
  EXPECT_TRUE(FindPortHolder("::ffff:10.9.8.7", socket.port()).has_value());
  EXPECT_EQ(FindPortHolder("fd77::1", socket.port()), std::nullopt);
}

TEST(PortHolderTest, SocketOnOtherAddressDoesNotHoldPort) {
  const Listening socket("127.0.0.1");
  ASSERT_TRUE(socket.ok());
  EXPECT_EQ(FindPortHolder("127.0.0.2", socket.port()), std::nullopt);
}

TEST(PortHolderTest, ClosedPortHasNoHolder) {
  uint16_t port = 0;
  {
    const Listening socket("127.0.0.3");
    ASSERT_TRUE(socket.ok());
    port = socket.port();
  }
  EXPECT_EQ(FindPortHolder("127.0.0.3", port), std::nullopt);
}

}  // namespace
}  // namespace espalier::launch
