#include "services/trainer/gloo_collective.h"

#include <gtest/gtest.h>

#include <thread>

#include "services/base/testing/soon.h"
#include "services/collective/testing/conformance.h"

namespace espalier::trainer {
namespace {

using collective::Collective;

std::unique_ptr<Collective> Connect(std::unique_ptr<Rendezvous> rendezvous, uint32_t rank, uint32_t size) {
  auto connected = ConnectGloo(std::move(rendezvous), {Rank(rank), size, "", "1"}, Soon());
  EXPECT_TRUE(connected.ok()) << connected.status().ToString();
  return connected.ok() ? *std::move(connected) : nullptr;
}

// Ranks as threads over loopback sockets, on a port that the system picks.
std::vector<std::unique_ptr<Collective>> GlooGroup(uint32_t size) {
  std::vector<std::unique_ptr<Collective>> ranks(size);
  auto host = Rendezvous::Host("127.0.0.1", 0);
  EXPECT_TRUE(host.ok()) << host.status().ToString();
  const uint16_t port = (*host)->port();
  std::vector<std::thread> threads;
  for (uint32_t rank = 1; rank < size; ++rank) {
    threads.emplace_back([&ranks, rank, size, port] {
      auto joined = Rendezvous::Join("127.0.0.1", port, Soon());
      ASSERT_TRUE(joined.ok()) << joined.status().ToString();
      ranks[rank] = Connect(*std::move(joined), rank, size);
    });
  }
  ranks[0] = Connect(*std::move(host), 0, size);
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

TEST(GlooCollectiveTest, PicksAPortAndTellsIt) {
  const auto host = Rendezvous::Host("127.0.0.1", 0);
  ASSERT_TRUE(host.ok()) << host.status().ToString();
  EXPECT_GT((*host)->port(), 0);
}

TEST(GlooCollectiveTest, GivesUpConnectingAtTheDeadline) {
  auto host = Rendezvous::Host("127.0.0.1", 0);
  ASSERT_TRUE(host.ok());
  const auto connected =
      ConnectGloo(*std::move(host), {Rank(0), 2, "", "1"}, Deadline::After(std::chrono::milliseconds(200)));
  EXPECT_EQ(connected.status().code(), StatusCode::kDeadlineExceeded) << connected.status().ToString();
}

TEST(GlooCollectiveTest, RefusesARankBeyondItsGroup) {
  auto host = Rendezvous::Host("127.0.0.1", 0);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(ConnectGloo(*std::move(host), {Rank(2), 2, "", "1"}, Soon()).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::trainer

namespace espalier::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(Gloo, CollectiveConformanceTest, testing::Values(GroupFactory(trainer::GlooGroup)));

}  // namespace
}  // namespace espalier::collective
