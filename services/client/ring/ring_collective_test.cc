// The ring over real sockets, in plaintext and with TLS.
#include "services/client/ring/ring_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/base/testing/soon.h"
#include "services/collective/in_process_collective.h"
#include "services/collective/nccl/testing/nccl_group.h"
#include "services/collective/testing/conformance.h"
#include "services/rpc/testing/tls_folder.h"

namespace espalier::client {
namespace {

using collective::Collective;
using pki::PeerRole;
using rpc::testing::TlsFolder;
using ::testing::HasSubstr;

using Ranks = std::vector<std::unique_ptr<Collective>>;

std::vector<std::unique_ptr<RingEndpoint>> Endpoints(uint32_t size,
                                                     const std::shared_ptr<const rpc::TransportSecurity>& tls) {
  std::vector<std::unique_ptr<RingEndpoint>> endpoints;
  for (uint32_t rank = 0; rank < size; ++rank) {
    auto endpoint = RingEndpoint::Listen({.rank = Rank(rank), .size = size, .incarnation = 3, .tls = tls});
    ESPALIER_CHECK(endpoint.ok()) << endpoint.status().ToString();
    endpoints.push_back(*std::move(endpoint));
  }
  return endpoints;
}

Ranks ConnectAll(std::vector<std::unique_ptr<RingEndpoint>> endpoints) {
  Ranks ranks(endpoints.size());
  const std::string rank0 = endpoints[0]->address();
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      auto connected = ConnectRing(std::move(endpoints[rank]), rank0, Soon());
      ASSERT_TRUE(connected.ok()) << connected.status().ToString();
      ranks[rank] = *std::move(connected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

Ranks PlainRing(uint32_t size) { return ConnectAll(Endpoints(size, nullptr)); }

Ranks TlsRing(uint32_t size) {
  static TlsFolder folder;
  static const auto tls = folder.Load(PeerRole::kTrainer);
  return ConnectAll(Endpoints(size, tls));
}

TEST(RingCollectiveTest, AddsInRankOrderAtEveryPositionOfTheBuffer) {
  // In float, (1e8 - 1e8) + 1 is 1, and 0 in every other order.
  const float by_rank[] = {1e8f, -1e8f, 1.0f};
  Ranks ranks = PlainRing(3);
  OnEveryRank(ranks, [&](Collective& collective) {
    // More segments than are in flight at once.
    std::vector<float> values(3'000'000, by_rank[collective.rank().value]);
    const Status status = collective.AllReduceSum(std::span<float>(values), Soon());
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(values, std::vector<float>(values.size(), 1.0f));
  });
}

template <class T>
void ExpectSumsOfInProcessGroup(uint32_t size, size_t count) {
  Ranks ring = PlainRing(size), in_process = collective::MakeInProcessGroup(size);
  std::vector<std::vector<T>> sums(2 * size);
  for (Ranks* ranks : {&ring, &in_process}) {
    OnEveryRank(*ranks, [&](Collective& collective) {
      std::vector<T> values(count);
      for (size_t i = 0; i < count; ++i) {
        values[i] = static_cast<T>(1) / static_cast<T>(i + 3 * collective.rank().value + 1);
      }
      const Status status = collective.AllReduceSum(std::span<T>(values), Soon());
      ASSERT_TRUE(status.ok()) << status.ToString();
      sums[collective.rank().value + (ranks == &ring ? 0 : size)] = std::move(values);
    });
  }
  for (const std::vector<T>& values : sums) EXPECT_EQ(values, sums[0]) << size << " ranks, " << count << " values";
}

TEST(RingCollectiveTest, SumsHaveTheBitsOfTheInProcessGroup) {
  constexpr size_t kSegmentFloats = (size_t{1} << 20) / sizeof(float);
  for (const uint32_t size : {1u, 2u, 3u, 4u}) {
    for (const size_t count :
         {size_t{1}, size_t{1001}, kSegmentFloats, 2 * kSegmentFloats + 1, 20 * kSegmentFloats - 1}) {
      ExpectSumsOfInProcessGroup<float>(size, count);
    }
    ExpectSumsOfInProcessGroup<double>(size, kSegmentFloats + 17);
  }
}

TEST(RingCollectiveTest, SumsBuffersLargerThanSegment) {
  Ranks ranks = PlainRing(3);
  OnEveryRank(ranks, [](Collective& collective) {
    const auto own = static_cast<std::byte>(collective.rank().value + 1);
    std::vector<std::byte> bytes(7'000'001, own);
    const auto all = collective.AllGather(bytes, Soon());
    ASSERT_TRUE(all.ok()) << all.status().ToString();
    for (uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ((*all)[rank * bytes.size()], static_cast<std::byte>(rank + 1));
      EXPECT_EQ((*all)[(rank + 1) * bytes.size() - 1], static_cast<std::byte>(rank + 1));
    }
    ASSERT_TRUE(collective.Broadcast(bytes, Rank(1), Soon()).ok());
    EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size(), std::byte{2}));
  });
}

TEST(RingCollectiveTest, RefusesOperationsThatDoNotFit) {
  Ranks ranks = PlainRing(2);
  OnEveryRank(ranks, [](Collective& collective) {
    std::vector<float> values(collective.rank().value + 1);
    const Status status = collective.AllReduceSum(std::span<float>(values), Soon());
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(collective.Barrier(Soon()).code(), status.code()) << "dead";
  });
}

TEST(RingCollectiveTest, RefusesDifferentRootsThatReachTheSameRank) {
  Ranks ranks = PlainRing(3);
  const Rank roots[] = {Rank(0), Rank(0), Rank(1)};
  OnEveryRank(ranks, [&](Collective& collective) {
    std::vector<std::byte> bytes(4);
    const Status status = collective.Broadcast(bytes, roots[collective.rank().value], Soon());
    if (collective.rank() == Rank(2)) {
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(status.message(), HasSubstr("different roots: rank 1 here, rank 0 at the previous rank"));
    }
    EXPECT_FALSE(collective.Barrier(Soon()).ok());
  });
}

// Each rank only sends, so the broadcast itself cannot find the difference.
TEST(RingCollectiveTest, NextOperationRefusesBroadcastsOfTwoRoots) {
  Ranks ranks = PlainRing(2);
  OnEveryRank(ranks, [&](Collective& collective) {
    std::vector<std::byte> bytes(4);
    EXPECT_TRUE(collective.Broadcast(bytes, collective.rank(), Soon()).ok());
    EXPECT_FALSE(collective.Barrier(Soon()).ok());
  });
}

// A rank may leave after its last operation while other ranks still forward its messages.
TEST(RingCollectiveTest, SucceedsWhenEveryRankLeavesAfterItsLastOperation) {
  for (int round = 0; round < 20; ++round) {
    Ranks ranks = PlainRing(3);
    OnEveryRank(ranks, [&](Collective& collective) {
      const uint32_t rank = collective.rank().value;
      std::vector<float> values(400'000, 1.0f);
      const Status sum = collective.AllReduceSum(std::span<float>(values), Soon());
      EXPECT_TRUE(sum.ok()) << sum.ToString();
      const Status sent = collective.Broadcast(std::as_writable_bytes(std::span(values)), Rank(2), Soon());
      EXPECT_TRUE(sent.ok()) << sent.ToString();
      ranks[rank].reset();
    });
  }
}

TEST(RingCollectiveTest, NamesMissingRanks) {
  auto endpoints = Endpoints(3, nullptr);
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(300));
  std::thread other([&] {
    const auto connected = ConnectRing(std::move(endpoints[1]), endpoints[0]->address(), deadline);
    EXPECT_FALSE(connected.ok());
  });
  other.join();
  const auto connected = ConnectRing(std::move(endpoints[0]), "", Deadline::After(std::chrono::milliseconds(200)));
  EXPECT_EQ(connected.status().code(), StatusCode::kDeadlineExceeded) << connected.status().ToString();
  EXPECT_THAT(connected.status().message(), HasSubstr("did not join before the deadline: 1, 2"));
}

TEST(RingCollectiveTest, RefusesRanksOfAnotherIncarnationOrGroup) {
  auto rank0 = RingEndpoint::Listen({.rank = Rank(0), .size = 2, .incarnation = 2});
  ASSERT_TRUE(rank0.ok());
  const auto join = [&](RingOptions options) {
    auto endpoint = RingEndpoint::Listen(options);
    ESPALIER_CHECK(endpoint.ok()) << endpoint.status().ToString();
    return ConnectRing(*std::move(endpoint), (*rank0)->address(), Soon()).status();
  };
  EXPECT_EQ(join({.rank = Rank(1), .size = 2, .incarnation = 1}).code(), StatusCode::kAborted);
  EXPECT_EQ(join({.rank = Rank(1), .size = 3, .incarnation = 2}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(RingEndpoint::Listen({.rank = Rank(2), .size = 2}).status().code(), StatusCode::kInvalidArgument);
}

TEST(RingCollectiveTest, TlsGroupRefusesPlaintextAndOtherRoles) {
  TlsFolder folder;
  const auto trainer = folder.Load(PeerRole::kTrainer);
  const auto sampler = folder.Load(PeerRole::kSampler);
  auto rank0 = RingEndpoint::Listen({.rank = Rank(0), .size = 2, .tls = trainer});
  ASSERT_TRUE(rank0.ok());
  const auto join = [&](std::shared_ptr<const rpc::TransportSecurity> tls, Deadline deadline) {
    auto endpoint = RingEndpoint::Listen({.rank = Rank(1), .size = 2, .tls = std::move(tls)});
    ESPALIER_CHECK(endpoint.ok()) << endpoint.status().ToString();
    return ConnectRing(*std::move(endpoint), (*rank0)->address(), deadline).status();
  };
  EXPECT_EQ(join(sampler, Soon()).code(), StatusCode::kPermissionDenied);
  // Joining is retried until the deadline.
  EXPECT_EQ(join(nullptr, Deadline::After(std::chrono::seconds(3))).code(), StatusCode::kUnavailable);
}

}  // namespace

}  // namespace espalier::client

namespace espalier::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(PlainRing, CollectiveConformanceTest, testing::Values(GroupFactory(client::PlainRing)));
INSTANTIATE_TEST_SUITE_P(TlsRing, CollectiveConformanceTest, testing::Values(GroupFactory(client::TlsRing)));
// Sums of f32 by the fake NCCL, while the ring watches the ranks.
INSTANTIATE_TEST_SUITE_P(NcclPlainRing, CollectiveConformanceTest, testing::Values(GroupFactory([](uint32_t size) {
                           return SumWithFakeNccl(client::PlainRing(size));
                         })));
INSTANTIATE_TEST_SUITE_P(NcclTlsRing, CollectiveConformanceTest, testing::Values(GroupFactory([](uint32_t size) {
                           return SumWithFakeNccl(client::TlsRing(size));
                         })));

class NcclOverRingTest : public testing::Test {
 protected:
  ~NcclOverRingTest() override { fake_.FakeNcclReset(); }

  const FakeNccl fake_ = OpenFakeNccl();
};

// NCCL does not report the death of a rank, and most ranks have no connection to that rank.
TEST_F(NcclOverRingTest, ARankThatDiesInASumFailsAllOthersPromptly) {
  auto ranks = SumWithFakeNccl(client::PlainRing(4));
  fake_.FakeNcclHoldSums();
  std::jthread end([&, &dies = *ranks[1]] {
    while (fake_.FakeNcclNumBegun() < 4) std::this_thread::yield();
    dies.Abandon();
  });
  OnEveryRank(ranks, [](Collective& group) {
    std::vector<float> values(1000, 1.0f);
    const Status status = group.AllReduceSum(std::span<float>(values), Soon());
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
  });
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

TEST_F(NcclOverRingTest, AHangingSumEndsAtTheDeadlineOnAllRanks) {
  auto ranks = SumWithFakeNccl(client::PlainRing(3));
  fake_.FakeNcclHoldSums();
  OnEveryRank(ranks, [](Collective& group) {
    const bool is_first = group.rank() == Rank(0);
    std::vector<float> values(1000, 1.0f);
    const Status status = group.AllReduceSum(std::span<float>(values),
                                             is_first ? Deadline::After(std::chrono::milliseconds(50)) : Soon());
    EXPECT_EQ(status.code(), is_first ? StatusCode::kDeadlineExceeded : StatusCode::kUnavailable) << status.ToString();
  });
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

}  // namespace
}  // namespace espalier::collective
