// The port of a rank with unexpected connections: invalid bytes, silent connections, ranks that are not the expected
// ones. Groups connect and stay usable meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/base/testing/soon.h"
#include "services/client/ring/ring_collective.h"
#include "services/client/ring/ring_connect.h"
#include "services/collective/testing/conformance.h"
#include "services/rpc/testing/tls_folder.h"

namespace espalier::client {
namespace {

using collective::Collective;
using pki::PeerRole;
using rpc::testing::TlsFolder;
using ::testing::HasSubstr;

using Tls = std::shared_ptr<const rpc::TransportSecurity>;

std::unique_ptr<RingEndpoint> ListenAs(uint32_t rank, RingOptions options = {}) {
  options.rank = Rank(rank);
  options.size = 2;
  auto endpoint = RingEndpoint::Listen(options);
  ESPALIER_CHECK(endpoint.ok()) << endpoint.status().ToString();
  return *std::move(endpoint);
}

// Connects the two ranks of a group.
std::vector<std::unique_ptr<Collective>> ConnectPair(std::unique_ptr<RingEndpoint> rank0,
                                                     std::unique_ptr<RingEndpoint> rank1) {
  std::vector<std::unique_ptr<Collective>> ranks(2);
  const std::string address = rank0->address();
  const auto connect = [&](std::unique_ptr<RingEndpoint> endpoint, std::unique_ptr<Collective>& rank) {
    auto connected = ConnectRing(std::move(endpoint), address, Soon());
    ASSERT_TRUE(connected.ok()) << connected.status().ToString();
    rank = *std::move(connected);
  };
  std::thread other([&] { connect(std::move(rank1), ranks[1]); });
  connect(std::move(rank0), ranks[0]);
  other.join();
  return ranks;
}

void ExpectUsable(std::vector<std::unique_ptr<Collective>>& ranks) {
  OnEveryRank(ranks, [](Collective& collective) {
    const Status status = collective.Barrier(Soon());
    EXPECT_TRUE(status.ok()) << status.ToString();
  });
}

RingSocket ConnectAsForeignPeer(const std::string& address, RingTls* tls = nullptr) {
  auto socket = ConnectToRank(Rank(0), address, tls, RingWait(Soon()));
  ESPALIER_CHECK(socket.ok()) << socket.status().ToString();
  return *std::move(socket);
}

// Sends bytes as the first bytes of a connection. Returns the error with which the port refuses them, or Unavailable if
// the connection is closed without an error message.
Status SendFirst(const std::string& address, const std::string& bytes, RingTls* tls = nullptr) {
  RingSocket socket = ConnectAsForeignPeer(address, tls);
  const RingWait wait(Soon());
  RETURN_IF_ERROR(SendAll(socket, bytes, wait));
  FrameReceiver receiver(1 << 20);
  RETURN_IF_ERROR(ReceiveFrame(socket, receiver, wait));
  collective::v1::End end;
  RETURN_IF_ERROR(receiver.ParseMessage(FrameKind::kEnd, &end));
  return Status(static_cast<StatusCode>(end.code()), end.error());
}

std::string HeaderFrame(const FrameHeader& header) {
  const FrameHeaderBytes bytes = EncodeFrameHeader(header);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string GreetingFrame(uint32_t rank, uint64_t group) {
  collective::v1::Greeting greeting;
  greeting.set_rank(rank);
  greeting.set_group(group);
  return EncodeMessageFrame(FrameKind::kGreeting, greeting);
}

TEST(RingPortTest, RefusesForeignMessagesAndRemainsUsable) {
  auto rank0 = ListenAs(0), rank1 = ListenAs(1);
  const std::string addresses[] = {rank0->address(), rank1->address()};
  auto ranks = ConnectPair(std::move(rank0), std::move(rank1));
  const std::string garbage(kFrameHeaderBytes, 'g');
  const std::string hostile[] = {
      garbage,
      HeaderFrame({.kind = FrameKind::kJoin, .payload_bytes = uint64_t{1} << 60}),
      HeaderFrame({.kind = FrameKind::kGreeting, .payload_bytes = 3}) + "\xff\xff\xff",
      HeaderFrame({.kind = FrameKind::kSum, .payload_bytes = uint64_t{1} << 60}),
      HeaderFrame({.kind = FrameKind::kEnd}),
      GreetingFrame(7, 1),
  };
  for (const std::string& address : addresses) {
    for (const std::string& bytes : hostile) {
      EXPECT_EQ(SendFirst(address, bytes).code(), StatusCode::kInvalidArgument) << bytes;
    }
  }
  EXPECT_EQ(SendFirst(addresses[0], GreetingFrame(1, 1)).code(), StatusCode::kUnavailable) << "rank 1 is connected";
  collective::v1::JoinRequest join;
  join.set_rank(1);
  join.set_size(2);
  join.set_address("127.0.0.1:1");
  EXPECT_EQ(SendFirst(addresses[0], EncodeMessageFrame(FrameKind::kJoin, join)).code(), StatusCode::kAborted);
  EXPECT_EQ(SendFirst(addresses[1], EncodeMessageFrame(FrameKind::kJoin, join)).code(),
            StatusCode::kFailedPrecondition);
  ExpectUsable(ranks);
}

// More connections than the port holds, all older than those of the ranks: silent ones, and parts of messages.
TEST(RingPortTest, ConnectsRanksDespiteForeignConnections) {
  auto rank0 = ListenAs(0), rank1 = ListenAs(1);
  std::vector<RingSocket> foreign;
  for (int i = 0; i < 300; ++i) {
    foreign.push_back(ConnectAsForeignPeer(rank0->address()));
    if (i % 2 == 0) continue;
    const Status sent = SendAll(foreign.back(), GreetingFrame(1, 1).substr(0, 20), RingWait(Soon()));
    EXPECT_TRUE(sent.ok()) << sent.ToString();
  }
  auto ranks = ConnectPair(std::move(rank0), std::move(rank1));
  ExpectUsable(ranks);
}

// Greetings of the expected rank that arrive before the group has a number.
TEST(RingPortTest, ConnectsRanksDespiteForeignGreetings) {
  auto rank0 = ListenAs(0), rank1 = ListenAs(1);
  std::vector<RingSocket> foreign;
  for (uint64_t group = 0; group < 20; ++group) {
    foreign.push_back(ConnectAsForeignPeer(rank0->address()));
    const Status sent = SendAll(foreign.back(), GreetingFrame(1, group), RingWait(Soon()));
    EXPECT_TRUE(sent.ok()) << sent.ToString();
  }
  auto ranks = ConnectPair(std::move(rank0), std::move(rank1));
  ExpectUsable(ranks);
}

TEST(RingPortTest, FailsPromptlyIfOtherRankSendsGarbage) {
  auto rank0 = ListenAs(0), rank1 = ListenAs(1);
  const std::string rank0_address = rank0->address();
  Status ended;
  std::thread first([&] { ended = ConnectRing(std::move(rank0), "", Soon()).status(); });
  // This test is rank 1: it joins, greets, and sends garbage in place of segments.
  collective::v1::JoinRequest request;
  request.set_rank(1);
  request.set_size(2);
  request.set_address(rank1->address());
  const auto group = JoinAtRank0(rank0_address, request, nullptr, RingWait(Soon()));
  ASSERT_TRUE(group.ok()) << group.status().ToString();
  RingSocket socket = ConnectAsForeignPeer(rank0_address);
  const std::string bytes = GreetingFrame(1, group->group()) + std::string(kFrameHeaderBytes, 'g');
  EXPECT_TRUE(SendAll(socket, bytes, RingWait(Soon())).ok());
  first.join();
  EXPECT_EQ(ended.code(), StatusCode::kUnavailable) << ended.ToString();
  EXPECT_THAT(ended.message(), HasSubstr("trainer 1"));
}

// A rank that dies sends no End message; the kernel closes its connections.
TEST(RingPortTest, FailsPromptlyWhenARankDies) {
  auto rank0 = ListenAs(0);
  const std::string rank0_address = rank0->address();
  auto port = ListenAs(1);
  Status ended;
  std::thread first([&] { ended = ConnectRing(std::move(rank0), "", Soon()).status(); });
  {
    collective::v1::JoinRequest request;
    request.set_rank(1);
    request.set_size(2);
    request.set_address(port->address());
    const auto group = JoinAtRank0(rank0_address, request, nullptr, RingWait(Soon()));
    ASSERT_TRUE(group.ok()) << group.status().ToString();
    RingSocket socket = ConnectAsForeignPeer(rank0_address);
    EXPECT_TRUE(SendAll(socket, GreetingFrame(1, group->group()), RingWait(Soon())).ok());
  }
  first.join();
  EXPECT_EQ(ended.code(), StatusCode::kUnavailable) << ended.ToString();
  EXPECT_THAT(ended.message(), HasSubstr("trainer 1 disconnected"));
}

TEST(RingPortTest, NamesTheRankThatSendsNothing) {
  auto ranks = ConnectPair(ListenAs(0), ListenAs(1));
  std::vector<float> values(20'000'000);
  const Status status =
      ranks[0]->AllReduceSum(std::span<float>(values), Deadline::After(std::chrono::milliseconds(200)));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("trainer 1 did not send its data before the deadline"));
  EXPECT_EQ(ranks[1]->AllReduceSum(std::span<float>(values), Soon()).code(), StatusCode::kUnavailable);
}

TEST(RingPortTest, WaitsForRank0AndStops) {
  std::string address;
  {
    address = ListenAs(0)->address();  // a port that is free now
  }
  std::stop_source stop;
  Status stopped;
  std::thread waits([&] { stopped = ConnectRing(ListenAs(1, {.stop = stop.get_token()}), address, Soon()).status(); });
  stop.request_stop();
  waits.join();
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled) << stopped.ToString();

  std::unique_ptr<Collective> rank1;
  std::thread early([&] {
    auto connected = ConnectRing(ListenAs(1), address, Soon());
    ASSERT_TRUE(connected.ok()) << connected.status().ToString();
    rank1 = *std::move(connected);
  });
  auto rank0 = ConnectRing(ListenAs(0, {.listen = address}), "", Soon());
  EXPECT_TRUE(rank0.ok()) << rank0.status().ToString();
  early.join();
}

TEST(RingPortTest, StopsRank0WhileItWaits) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ConnectRing(ListenAs(0, {.stop = stop.get_token()}), "", Soon()).status().code(), StatusCode::kCancelled);
}

TEST(RingPortTest, ListensForOtherHostsOnlyWhereAllowed) {
  EXPECT_EQ(RingEndpoint::Listen({.size = 2, .listen = "0.0.0.0:0"}).status().code(), StatusCode::kFailedPrecondition);
  const RingOptions any{.listen = "0.0.0.0:0", .allow_other_hosts = true, .advertised_host = "127.0.0.1"};
  auto ranks = ConnectPair(ListenAs(0, any), ListenAs(1, any));
  ExpectUsable(ranks);
  auto taken = ListenAs(0);
  EXPECT_EQ(RingEndpoint::Listen({.size = 2, .listen = taken->address()}).status().code(), StatusCode::kUnavailable);
}

TEST(RingPortTest, ConnectsOverIpv6) {
  auto rank0 = RingEndpoint::Listen({.size = 2, .listen = "[::1]:0"});
  if (rank0.status().code() == StatusCode::kUnavailable) GTEST_SKIP() << "no IPv6: " << rank0.status().ToString();
  ASSERT_TRUE(rank0.ok()) << rank0.status().ToString();
  EXPECT_THAT((*rank0)->address(), HasSubstr("[::1]:"));
  auto ranks = ConnectPair(*std::move(rank0), ListenAs(1, {.listen = "[::1]:0"}));
  ExpectUsable(ranks);
}

// Connections that are made after certificates were replaced use the new ones.
TEST(RingPortTest, UsesReplacedCertificates) {
  TlsFolder folder;
  const Tls tls = folder.Load(PeerRole::kTrainer);
  auto rank0 = ListenAs(0, {.tls = tls});
  RingTls foreign_tls(folder.SettingsOf(PeerRole::kTrainer));
  ConnectAsForeignPeer(rank0->address(), &foreign_tls).Close();

  // Certificates of another role are refused until they are replaced again.
  folder.Issue(PeerRole::kTrainer, {.identity = {rpc::testing::kTestJob, PeerRole::kServer}});
  const Deadline seen = Soon();
  std::string refused;
  while (!seen.HasPassed() && refused.find("a server where a trainer is expected") == std::string::npos) {
    const RingWait wait(Deadline::After(std::chrono::seconds(1)));
    refused = ConnectToRank(Rank(0), rank0->address(), &foreign_tls, wait).status().message();
  }
  EXPECT_FALSE(seen.HasPassed()) << refused;
  folder.Issue(PeerRole::kTrainer);
  const auto again = ConnectToRank(Rank(0), rank0->address(), &foreign_tls, RingWait(Soon()));
  EXPECT_TRUE(again.ok()) << again.status().ToString();
}

// The client would accept this server's certificate; the request of another job gets no response.
TEST(RingPortTest, RefusesOtherJobsAndAuthorities) {
  TlsFolder folder, other;
  auto rank0 = ListenAs(0, {.tls = folder.Load(PeerRole::kTrainer)});
  const auto join = [&](const rpc::TlsSettings& settings) {
    RingTls tls(settings);
    collective::v1::JoinRequest request;
    request.set_rank(1);
    request.set_size(7);
    return SendFirst(rank0->address(), EncodeMessageFrame(FrameKind::kJoin, request), &tls).code();
  };
  EXPECT_EQ(join(folder.SettingsOf(PeerRole::kTrainer)), StatusCode::kInvalidArgument) << "answered: another size";
  folder.Issue(PeerRole::kSampler, {.identity = {{"default", "other"}, PeerRole::kTrainer}});
  EXPECT_EQ(join(folder.SettingsOf(PeerRole::kSampler)), StatusCode::kUnavailable);
  other.Issue(PeerRole::kTrainer);
  rpc::TlsSettings settings = other.SettingsOf(PeerRole::kTrainer);
  settings.ca_file = folder.CaFile();
  EXPECT_EQ(join(settings), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace espalier::client
