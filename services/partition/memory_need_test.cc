// Compares the estimates with sums by hand.
#include "services/partition/memory_need.h"

#include <gtest/gtest.h>

#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {
namespace {

constexpr uint64_t kFixed = uint64_t{64} << 20;

graph::SourceGraph FourNodes() {
  graph::SourceGraph graph = testing::GraphOf(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}, {1, 3}, {2, 0}, {3, 1}});
  graph.nodes[0].columns["x"] = Tensor::Zeros(DType::kF16, {4, 3});
  graph.edges[0].columns["w"] = Tensor::Zeros(DType::kF32, {8});
  return graph;
}

TEST(LeastStreamingMemoryTest, IsMaximumOverPhases) {
  // Per vertex: the weight (4), the row (4), the offset (8), the partition (2); a sixteenth of 16 ends of 4 bytes.
  EXPECT_EQ(LeastStreamingMemory(FourNodes(), {.num_partitions = 2}), kFixed + 4 * 18 + 4);
  // Three constraints of 4 bytes.
  EXPECT_EQ(LeastStreamingMemory(FourNodes(), {.balance = {BalanceConstraint::kNodeTypes,
                                                           BalanceConstraint::kTrainNodes, BalanceConstraint::kEdges}}),
            kFixed + 4 * 26 + 4);
}

TEST(ComputeBuildMemoryTest, CountsLayoutAndOnePartition) {
  // Layout: global IDs, partitions and out-degrees (4 each). One partition of one: original IDs (4), x (6), out-degrees
  // and indptr (4 each) per node; index, row and w (4 each) per edge.
  EXPECT_EQ(ComputeBuildMemory(FourNodes(), 1, kBalancedLargestToAverage, {}), kFixed + 4 * 12 + 4 * 18 + 8 * 12);
  EXPECT_EQ(ComputeBuildMemory(FourNodes(), 2, kBalancedLargestToAverage, {}), kFixed + 4 * 12 + 88);  // 168 * 1.05 / 2
  EXPECT_EQ(ComputeBuildMemory(FourNodes(), 2, 1.5, {}), kFixed + 4 * 12 + 126);
  EXPECT_EQ(ComputeBuildMemory(FourNodes(), 2, 3, {}), kFixed + 4 * 12 + 168);  // all of it
  // A copy of x (6) and of the original ID (4) per edge.
  EXPECT_EQ(ComputeBuildMemory(FourNodes(), 1, kBalancedLargestToAverage, {.source_columns = {"x"}}),
            kFixed + 4 * 12 + 4 * 18 + 8 * (12 + 10));
}

}  // namespace
}  // namespace espalier::partition
