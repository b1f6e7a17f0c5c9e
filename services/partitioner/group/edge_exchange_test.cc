#include "services/partitioner/group/edge_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/partition/testing/small_graphs.h"
#include "services/storage/memory_store.h"

namespace espalier::partitioner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EdgeExchangeTest : public ::testing::Test {
 protected:
  SentEdges Send(uint32_t rank, uint32_t size) {
    auto sent = SendEdges(place_, source_, SelectShares(source_, rank, size), assignment_,
                          {.rank = rank, .num_partitions = 2, .threads = 1});
    EXPECT_TRUE(sent.ok()) << sent.status().ToString();
    return *std::move(sent);
  }

  Result<std::vector<partition::EdgeCounts>> Sum(const std::vector<SentEdges>& sent) const {
    return SumCounts(place_, source_, SelectShares(source_, 0, 1), sent);
  }

  storage::MemoryStore store_;
  const BundlePlace place_{.store = store_, .prefix = "p", .folder = "exchange"};
  const graph::SourceGraph source_ = partition::testing::GraphOf(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}, {1, 3}});
  const partition::Assignment assignment_ = {{0, 0, 1, 1}};
};

TEST_F(EdgeExchangeTest, SharesFormWholeGraph) {
  const auto counts = Sum({Send(0, 3), Send(1, 3), Send(2, 3)});
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  EXPECT_THAT(counts->front().of_partition, ElementsAre(2, 4));
  EXPECT_THAT(counts->front().out_degree.values<uint32_t>(), ElementsAre(2, 2, 1, 1));
}

// Two of four shares are not the whole graph: edges are missing or repeated.
TEST_F(EdgeExchangeTest, RefusesSharesThatDoNotFormGraph) {
  const SentEdges quarter = Send(0, 4), half = Send(0, 2);
  const Status missing = Sum({quarter, Send(1, 4)}).status();
  EXPECT_EQ(missing.code(), StatusCode::kDataLoss);
  EXPECT_THAT(missing.message(), HasSubstr("expected 6"));
  EXPECT_EQ(Sum({half, Send(1, 2), quarter}).status().code(), StatusCode::kDataLoss);
}

// The bundle was written by a process with another graph. Its checksums are right.
TEST_F(EdgeExchangeTest, RefusesEdgesBetweenNodesThatDoNotExist) {
  const std::vector<EdgeShare> shares = SelectShares(source_, 0, 1);
  const auto receive = [&](const SentEdges& sent) {
    return ReceiveEdges(place_, source_, shares, PartitionId(0), {sent});
  };
  const SentEdges good = Send(0, 1);
  const Result<graph::SourceGraph> received = receive(good);
  ASSERT_TRUE(received.ok()) << received.status().ToString();
  EXPECT_THAT(received->edges[0].sources.values<uint32_t>(), ElementsAre(0, 3));
  EXPECT_EQ(CheckDestinations(*received, assignment_, PartitionId(0)), Status());
  EXPECT_EQ(CheckDestinations(*received, assignment_, PartitionId(1)).code(), StatusCode::kDataLoss);
  for (const std::string name : {"sources/node:to:node", "destinations/node:to:node"}) {
    Result<TensorBundle> bundle = ReadBundle(place_, good.edges[0]);
    ASSERT_TRUE(bundle.ok()) << bundle.status().ToString();
    ASSERT_TRUE(bundle->contains(name));
    (*bundle)[name] = Tensor::FromVector(std::vector<uint32_t>{0, 4});
    Result<format::FileEntry> forged = WriteBundle(place_, "forged", *bundle);
    ASSERT_TRUE(forged.ok()) << forged.status().ToString();
    SentEdges sent = good;
    sent.edges[0] = *forged;
    const Status refused = receive(sent).status();
    EXPECT_EQ(refused.code(), StatusCode::kDataLoss);
    EXPECT_THAT(refused.message(), AllOf(HasSubstr("forged"), HasSubstr("node:to:node"), HasSubstr("does not exist")));
  }
}

// The expected size may exceed the memory, so it must not be allocated for the message.
TEST_F(EdgeExchangeTest, RefusesOtherShapeWithoutAllocation) {
  TensorBundle bundle;
  bundle["numbers"] = Tensor::FromVector(std::vector<uint32_t>{1, 2, 3});
  const Status wrong = TakeTensor(bundle, {.key = "b", .size_bytes = 0, .block_hashes = {}}, "numbers", DType::kU32,
                                  {int64_t{1} << 30, int64_t{1} << 29})
                           .status();
  EXPECT_EQ(wrong.code(), StatusCode::kDataLoss);
  EXPECT_THAT(wrong.message(), AllOf(HasSubstr("U32 [3]"), HasSubstr("expected U32 [1073741824, 536870912]")));
}

}  // namespace
}  // namespace espalier::partitioner
