// The ring when descriptors or threads are used up, or the host of a rank vanishes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "services/base/host_port.h"
#include "services/base/testing/no_descriptors_left.h"
#include "services/base/testing/no_more_threads.h"
#include "services/base/testing/soon.h"
#include "services/client/ring/ring_collective.h"
#include "services/client/ring/ring_connect.h"
#include "services/rpc/testing/tls_folder.h"

namespace espalier::client {
namespace {

using collective::Collective;
using ::testing::HasSubstr;

// Calls `attempt` with 0, 1, 2, ... free descriptors until it succeeds. Every error must name the resource that the
// process lacks.
template <class Attempt>
void ExpectDescriptorsAreAskedFor(int at_least, Attempt attempt) {
  for (int spared = 0;; ++spared) {
    ASSERT_LT(spared, 20);
    Status status;
    {
      const NoDescriptorsLeft few(spared);
      status = attempt();
    }
    if (status.ok()) {
      EXPECT_GE(spared, at_least);
      return;
    }
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
    EXPECT_THAT(status.message(),
                HasSubstr("Too many open files; raise this process's limit of open files (ulimit -n)"));
  }
}

TEST(RingResourcesTest, AWaitNeedsADescriptorForItsStop) {
  const std::stop_source stop;
  ExpectDescriptorsAreAskedFor(1, [&] {
    const RingWait wait(Soon(), stop.get_token());
    pollfd nothing{.fd = -1, .events = POLLIN, .revents = 0};
    const Status checked = wait.Check();
    if (!checked.ok()) {
      EXPECT_EQ(wait.Poll({&nothing, 1}).code(), checked.code());
      EXPECT_EQ(wait.Pause(std::chrono::seconds(60)).code(), checked.code());
    }
    return checked;
  });
}

TEST(RingResourcesTest, AnEndpointNeedsDescriptors) {
  ExpectDescriptorsAreAskedFor(4, [] { return RingEndpoint::Listen({.size = 2}).status(); });
}

TEST(RingResourcesTest, AnEndpointNeedsAThread) {
  const NoMoreThreads none;
  const Status status = RingEndpoint::Listen({.size = 2}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("starting the thread of the ring's port"));
}

TEST(RingResourcesTest, AConnectionNeedsDescriptors) {
  const auto rank0 = RingEndpoint::Listen({.size = 2});
  ASSERT_TRUE(rank0.ok()) << rank0.status().ToString();
  ExpectDescriptorsAreAskedFor(
      1, [&] { return ConnectToRank(Rank(0), (*rank0)->address(), nullptr, RingWait(Soon())).status(); });
}

TEST(RingResourcesTest, ATlsSessionNeedsADescriptorForItsFiles) {
  rpc::testing::TlsFolder folder;
  folder.Issue(pki::PeerRole::kTrainer);
  RingTls tls(folder.SettingsOf(pki::PeerRole::kTrainer));
  const int unconnected = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(unconnected, 0);
  ExpectDescriptorsAreAskedFor(1, [&] { return tls.MakeSession(unconnected, TlsSide::kConnects).status(); });
  close(unconnected);
}

// All ranks may be in their handshakes at once.
TEST(RingResourcesTest, RanksOfALargeGroupDoNotReplaceEachOther) {
  constexpr uint32_t kRanks = 320;
  const auto rank0 = RingEndpoint::Listen({.size = kRanks});
  ASSERT_TRUE(rank0.ok()) << rank0.status().ToString();
  std::vector<RingSocket> silent;
  for (uint32_t rank = 0; rank <= kRanks; ++rank) {
    auto connected = ConnectToRank(Rank(0), (*rank0)->address(), nullptr, RingWait(Soon()));
    ASSERT_TRUE(connected.ok()) << connected.status().ToString();
    silent.push_back(*std::move(connected));
  }
  // Connections are accepted in order, so the response over the last one shows that all were accepted.
  collective::v1::JoinRequest request;
  request.set_rank(1);
  request.set_size(7);
  const std::string join = EncodeMessageFrame(FrameKind::kJoin, request);
  ASSERT_TRUE(SendAll(silent.back(), join, RingWait(Soon())).ok());
  FrameReceiver answer(1 << 20);
  ASSERT_TRUE(ReceiveFrame(silent.back(), answer, RingWait(Soon())).ok());
  std::byte byte{};
  const Result<size_t> received = silent.front().Read({&byte, 1});
  EXPECT_TRUE(received.ok()) << received.status().ToString();
}

// Rank 0 of two ranks; rank 1 is this test.
class RingHostTest : public ::testing::Test {
 protected:
  void Connect(std::chrono::milliseconds host_timeout) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    listening_ = Descriptor(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listening_.get(), 1), 0);
    ASSERT_EQ(getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);

    auto endpoint = RingEndpoint::Listen({.size = 2, .host_timeout = host_timeout});
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().ToString();
    const std::string rank0_address = (*endpoint)->address();
    Result<std::unique_ptr<Collective>> connected = Unavailable("");
    std::thread connects([&] { connected = ConnectRing(*std::move(endpoint), "", Soon()); });
    RunAsRank1(rank0_address, ToString(HostPort{"127.0.0.1", ntohs(address.sin_port)}));
    connects.join();
    ASSERT_TRUE(connected.ok()) << connected.status().ToString();
    rank0_ = *std::move(connected);
  }

  // Sends more than the kernel holds.
  Status Broadcast(const Deadline& deadline) {
    std::vector<std::byte> bytes(size_t{32} << 20);
    return rank0_->Broadcast(bytes, Rank(0), deadline);
  }

  Descriptor from_rank0_;

 private:
  void RunAsRank1(const std::string& rank0_address, const std::string& own_address) {
    collective::v1::JoinRequest request;
    request.set_rank(1);
    request.set_size(2);
    request.set_address(own_address);
    const auto group = JoinAtRank0(rank0_address, request, nullptr, RingWait(Soon()));
    ASSERT_TRUE(group.ok()) << group.status().ToString();
    auto to_rank0 = ConnectToRank(Rank(0), rank0_address, nullptr, RingWait(Soon()));
    ASSERT_TRUE(to_rank0.ok()) << to_rank0.status().ToString();
    to_rank0_ = *std::move(to_rank0);
    collective::v1::Greeting greeting;
    greeting.set_group(group->group());
    greeting.set_rank(1);
    // The barrier after connecting is a sum over no values.
    const FrameHeaderBytes barrier = EncodeFrameHeader({.kind = FrameKind::kPartialFloat, .operation = 1, .origin = 1});
    const std::string bytes = EncodeMessageFrame(FrameKind::kGreeting, greeting) +
                              std::string(reinterpret_cast<const char*>(barrier.data()), barrier.size());
    ASSERT_TRUE(SendAll(to_rank0_, bytes, RingWait(Soon())).ok());
    from_rank0_ = Descriptor(accept(listening_.get(), nullptr, nullptr));
    ASSERT_GE(from_rank0_.get(), 0);
  }

  Descriptor listening_;
  RingSocket to_rank0_;
  std::unique_ptr<Collective> rank0_;
};

// Makes the kernel drop every packet to the socket, as if its host had vanished.
void DropPacketsTo(const Descriptor& socket) {
  sock_filter drop{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program{.len = 1, .filter = &drop};
  ASSERT_EQ(setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), 0);
}

TEST_F(RingHostTest, DetectsLostHostWhileOnlySending) {
  ASSERT_NO_FATAL_FAILURE(Connect(std::chrono::milliseconds(500)));
  ASSERT_NO_FATAL_FAILURE(DropPacketsTo(from_rank0_));
  const Status status = Broadcast(Soon());
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("trainer 1 disconnected: its host has not answered for"));
}

// The window of the rank is full for several times the timeout, but its kernel responds.
TEST_F(RingHostTest, ComputingRankIsNoLostHost) {
  ASSERT_NO_FATAL_FAILURE(Connect(std::chrono::milliseconds(500)));
  const Status status = Broadcast(Deadline::After(std::chrono::seconds(3)));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("trainer 1 did not receive the data before the deadline"));
}

}  // namespace
}  // namespace espalier::client
