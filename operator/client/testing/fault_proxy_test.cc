// Tests each fault of FaultProxy with plain sockets on both sides.
#include "operator/client/testing/fault_proxy.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace espalier::ctl::client {
namespace {

// A blocking socket on 127.0.0.1 whose calls end after a minute.
class Socket {
 public:
  explicit Socket(int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  uint16_t Listen() {
    sockaddr_in address = Address(0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(descriptor_, 16), 0);
    EXPECT_EQ(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    return ntohs(address.sin_port);
  }
  Socket Accept() {
    EXPECT_TRUE(IsReadable(60'000));
    return Socket(accept(descriptor_, nullptr, nullptr));
  }
  int Connect(uint16_t port) {  // returns errno, or 0
    const sockaddr_in address = Address(port);
    return connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
  }
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void EndSending() { shutdown(descriptor_, SHUT_WR); }
  bool IsReadable(int timeout_ms) {
    pollfd fd{descriptor_, POLLIN, 0};
    return poll(&fd, 1, timeout_ms) == 1;
  }
  // Returns `num_bytes` bytes; if the connection ends before, the bytes so far followed by "RESET" or "END".
  std::string Receive(size_t num_bytes) {
    std::string bytes;
    while (bytes.size() < num_bytes) {
      if (!IsReadable(60'000)) return bytes + "NOTHING";
      std::string chunk(num_bytes - bytes.size(), '\0');
      const ssize_t got = recv(descriptor_, chunk.data(), chunk.size(), 0);
      if (got < 0) return bytes + (errno == ECONNRESET ? "RESET" : "ERROR");
      if (got == 0) return bytes + "END";
      bytes.append(chunk, 0, static_cast<size_t>(got));
    }
    return bytes;
  }

 private:
  static sockaddr_in Address(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }
  int descriptor_;
};

class FaultProxyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<FaultProxy>> proxy = FaultProxy::Start(listener_.Listen());
    ASSERT_TRUE(proxy.ok()) << proxy.status().ToString();
    proxy_ = *std::move(proxy);
  }
  struct Pair {
    Socket client, server;
  };
  Pair Connect() {
    Socket client;
    EXPECT_EQ(client.Connect(proxy_->port()), 0);
    return {std::move(client), listener_.Accept()};
  }

  Socket listener_;
  std::unique_ptr<FaultProxy> proxy_;
};

TEST_F(FaultProxyTest, PassesBytesBothWaysAndTheEnd) {
  Pair pair = Connect();
  pair.client.Send("question");
  EXPECT_EQ(pair.server.Receive(8), "question");
  pair.server.Send("answer");
  pair.server.EndSending();
  EXPECT_EQ(pair.client.Receive(100), "answerEND");
  EXPECT_EQ(proxy_->counts().accepted, 1);
  EXPECT_EQ(proxy_->counts().bytes_to_client, 6);
}

TEST_F(FaultProxyTest, PassesMoreThanItHolds) {
  Pair pair = Connect();
  const std::string much(4 << 20, 'x');
  std::thread sender([&] {
    pair.server.Send(much);
    pair.server.EndSending();
  });
  EXPECT_EQ(pair.client.Receive(much.size() + 1), much + "END");
  sender.join();
}

TEST_F(FaultProxyTest, DropsWhatIsOpen) {
  Pair pair = Connect();
  proxy_->Drop();
  EXPECT_EQ(pair.client.Receive(1), "RESET");
  EXPECT_EQ(pair.server.Receive(1), "RESET");
  Pair next = Connect();
  next.client.Send("x");
  EXPECT_EQ(next.server.Receive(1), "x");
}

TEST_F(FaultProxyTest, RefusesConnectionsAndKeepsThoseThatAreOpen) {
  Pair pair = Connect();
  proxy_->Refuse(true);
  Socket refused;
  EXPECT_EQ(refused.Connect(proxy_->port()), ECONNREFUSED);
  pair.client.Send("x");
  EXPECT_EQ(pair.server.Receive(1), "x");
  proxy_->Refuse(false);
  Connect();
}

TEST_F(FaultProxyTest, CutsInTheMiddle) {
  Pair pair = Connect();
  proxy_->CutAfter(7);
  pair.server.Send("event 1\nevent 2\n");
  EXPECT_EQ(pair.client.Receive(100).substr(0, 7), "event 1");  // followed by "RESET"
  Pair next = Connect();
  next.server.Send("whole again");
  EXPECT_EQ(next.client.Receive(11), "whole again");
}

TEST_F(FaultProxyTest, FallsSilentWithTheConnectionOpen) {
  Pair pair = Connect();
  proxy_->Silence(true);
  pair.server.Send("event");
  EXPECT_FALSE(pair.client.IsReadable(50));
  Socket late;
  EXPECT_EQ(late.Connect(proxy_->port()), 0);  // accepted by the kernel
  proxy_->Silence(false);
  EXPECT_FALSE(pair.client.IsReadable(50));  // old connections stay silent
  Pair next = Connect();
  next.server.Send("x");
  EXPECT_EQ(next.client.Receive(1), "x");
}

TEST_F(FaultProxyTest, Delays) {
  Pair pair = Connect();
  const Timer timer;
  proxy_->Delay(std::chrono::milliseconds(100));
  pair.client.Send("x");
  EXPECT_EQ(pair.server.Receive(1), "x");
  EXPECT_GE(timer.Seconds(), 0.1);  // may take longer on a busy machine
}

TEST_F(FaultProxyTest, ResetsTheClientOfAServerThatIsNotThere) {
  Result<std::unique_ptr<FaultProxy>> nowhere = FaultProxy::Start(1);
  ASSERT_TRUE(nowhere.ok());
  Socket client;
  EXPECT_EQ(client.Connect((*nowhere)->port()), 0);
  EXPECT_EQ(client.Receive(1), "RESET");
}

}  // namespace
}  // namespace espalier::ctl::client
