// Rendezvous of the ranks of a program over graph servers.
#include "services/client/init_process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "services/base/testing/soon.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InitProcessGroupTest : public ::testing::Test {
 protected:
  Context MakeContext(uint32_t rank, uint32_t size, uint64_t incarnation = 1) const {
    Context context;
    context.session.addresses = served_.addresses();
    context.session.incarnation = incarnation;
    context.rank = Rank(rank);
    context.world_size = size;
    return context;
  }
  // Returns the sum of 1, 10, 100, ... over the ranks, as seen by each rank.
  std::vector<double> SumOfAll(uint32_t size, uint64_t incarnation) const {
    std::vector<double> sums(size);
    std::vector<std::jthread> ranks;
    for (uint32_t rank = 0; rank < size; ++rank) {
      ranks.emplace_back([&, rank] {
        const Context context = MakeContext(rank, size, incarnation);
        const auto graph = DistGraph::Open(context);
        ASSERT_TRUE(graph.ok()) << graph.status().ToString();
        const auto group = InitProcessGroup(**graph, context, Soon());
        ASSERT_TRUE(group.ok()) << group.status().ToString();
        std::vector<double> value = {std::pow(10, rank)};
        ASSERT_TRUE((*group)->AllReduceSum(std::span<double>(value), Soon()).ok());
        sums[rank] = value[0];
        ASSERT_TRUE((*group)->Barrier(Soon()).ok());
      });
    }
    ranks.clear();
    return sums;
  }

  const testing::ServedGraph served_{testing::SmallGraph(), 2};
};

TEST_F(InitProcessGroupTest, RanksConnectAndSum) {
  EXPECT_THAT(SumOfAll(3, 1), ElementsAre(111, 111, 111));
  EXPECT_THAT(SumOfAll(3, 1), ElementsAre(111, 111, 111));  // again, with the same incarnation
  EXPECT_THAT(SumOfAll(2, 2), ElementsAre(11, 11));
}

TEST_F(InitProcessGroupTest, ASingleRankMakesNoCalls) {
  const Context context = MakeContext(0, 1);
  const auto graph = DistGraph::Open(context);
  ASSERT_TRUE(graph.ok());
  const auto group = InitProcessGroup(**graph, context, Soon());
  ASSERT_TRUE(group.ok());
  EXPECT_EQ((*group)->size(), 1u);
}

TEST_F(InitProcessGroupTest, AMissingRankIsReportedAtTheDeadline) {
  for (const uint32_t rank : {0u, 1u}) {
    const Context context = MakeContext(rank, 2);
    const auto graph = DistGraph::Open(context);
    ASSERT_TRUE(graph.ok());
    const Status status = InitProcessGroup(**graph, context, Deadline::After(std::chrono::milliseconds(200))).status();
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  }
}

// The deadline of the rendezvous applies, not that of the graph's calls.
TEST(InitProcessGroupWithoutServersTest, ReportsUnreachableServersAtDeadline) {
  testing::ServedGraph served(testing::SmallGraph(), 2);
  Context context;
  context.session.addresses = served.addresses();
  context.session.incarnation = 1;
  context.world_size = 2;
  context.call_timeout = std::chrono::seconds(60);
  const auto graph = DistGraph::Open(context);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  served.Kill(0);
  served.Kill(1);
  const Deadline patience = Deadline::After(std::chrono::seconds(50));
  for (const uint32_t rank : {0u, 1u}) {
    context.rank = Rank(rank);
    const Status status = InitProcessGroup(**graph, context, Deadline::After(std::chrono::milliseconds(200))).status();
    EXPECT_THAT(status.code(), ::testing::AnyOf(StatusCode::kUnavailable, StatusCode::kDeadlineExceeded))
        << status.ToString();
  }
  EXPECT_FALSE(patience.HasPassed());
}

TEST_F(InitProcessGroupTest, StopEndsWait) {
  for (const uint32_t rank : {0u, 1u}) {
    std::stop_source stop;
    stop.request_stop();
    Context context = MakeContext(rank, 2);
    const auto graph = DistGraph::Open(context);
    ASSERT_TRUE(graph.ok());
    context.session.channel.stop = stop.get_token();
    EXPECT_EQ(InitProcessGroup(**graph, context, Soon()).status().code(), StatusCode::kCancelled) << rank;
  }
}

// Rank 2 never joins: the stop ends the wait of the others in every phase. Rank 1 is stopped first, because otherwise
// it would get an error from rank 0.
TEST_F(InitProcessGroupTest, StopEndsWaitForOtherRanks) {
  std::vector<std::stop_source> stops(2);
  std::vector<Status> ends(2);
  std::vector<std::jthread> ranks;
  for (const uint32_t rank : {0u, 1u}) {
    ranks.emplace_back([&, rank] {
      Context context = MakeContext(rank, 3);
      const auto graph = DistGraph::Open(context);
      ASSERT_TRUE(graph.ok());
      context.session.channel.stop = stops[rank].get_token();
      ends[rank] = InitProcessGroup(**graph, context, Soon()).status();
    });
  }
  for (const uint32_t rank : {1u, 0u}) {
    stops[rank].request_stop();
    ranks[rank].join();
    EXPECT_EQ(ends[rank].code(), StatusCode::kCancelled) << rank << ends[rank].ToString();
  }
}

TEST_F(InitProcessGroupTest, PlaintextAcrossHostsNeedsPermission) {
  Context context = MakeContext(0, 2);
  const auto graph = DistGraph::Open(context);
  ASSERT_TRUE(graph.ok());
  context.local_address = "0.0.0.0";
  EXPECT_EQ(InitProcessGroup(**graph, context, Soon()).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace espalier::client
