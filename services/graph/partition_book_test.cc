#include "services/graph/partition_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::graph {
namespace {

using ::testing::HasSubstr;

GraphSchema TwoTypes() { return *GraphSchema::Make({"a", "b"}, {{"a", "r", "b"}, {"b", "s", "b"}}); }

// Three partitions. a: 2, 0, 3 nodes; b: 0, 4, 1; edges r: 5, 0, 0; s: 0, 0, 2.
PartitionBook ThreePartitions() {
  return *PartitionBook::Make(TwoTypes(), {{0, 2, 2, 5}, {0, 0, 4, 5}}, {{0, 5, 5, 5}, {0, 0, 0, 2}});
}

TEST(PartitionBookTest, FindsOwnersAcrossEmptyRanges) {
  const PartitionBook book = ThreePartitions();

  EXPECT_EQ(book.num_partitions(), 3u);
  EXPECT_EQ(book.Locate(NodeTypeId(0), GlobalNodeId(1)), (NodeLocation{PartitionId(0), LocalNodeId(1)}));
  EXPECT_EQ(book.Locate(NodeTypeId(0), GlobalNodeId(2)), (NodeLocation{PartitionId(2), LocalNodeId(0)}));
  EXPECT_EQ(book.Locate(NodeTypeId(1), GlobalNodeId(0)), (NodeLocation{PartitionId(1), LocalNodeId(0)}));
  EXPECT_EQ(book.OwnerOf(EdgeTypeId(0), GlobalEdgeId(4)), PartitionId(0));
  EXPECT_EQ(book.OwnerOf(EdgeTypeId(1), GlobalEdgeId(0)), PartitionId(2));
  EXPECT_EQ(book.ToGlobal(NodeTypeId(1), PartitionId(2), LocalNodeId(0)), GlobalNodeId(4));
  EXPECT_EQ(book.NumOwnedNodes(PartitionId(1), NodeTypeId(1)), 4u);
  EXPECT_EQ(book.num_nodes(), 10u);
  EXPECT_EQ(book.num_edges(), 7u);
}

TEST(PartitionBookTest, HomogeneousIdsCountByPartitionThenType) {
  const PartitionBook book = ThreePartitions();
  // Enumerates (partition, type, local ID) in order.
  uint64_t expected = 0;
  for (uint32_t p = 0; p < 3; ++p) {
    for (uint16_t t = 0; t < 2; ++t) {
      for (uint64_t i = book.NodeFirst(NodeTypeId(t))[p]; i < book.NodeFirst(NodeTypeId(t))[p + 1]; ++i) {
        EXPECT_EQ(book.ToHomogeneous(NodeTypeId(t), GlobalNodeId(i)).value, expected);
        EXPECT_EQ(book.ToTyped(HomogeneousNodeId(expected)),
                  (PartitionBook::TypedNode{NodeTypeId(t), GlobalNodeId(i)}));
        ++expected;
      }
    }
  }
  EXPECT_EQ(expected, 10u);
  for (uint64_t id = 0; id < 7; ++id) {
    const PartitionBook::TypedEdge edge = book.ToTyped(HomogeneousEdgeId(id));
    EXPECT_EQ(book.ToHomogeneous(edge.type, edge.edge).value, id);
  }
}

TEST(PartitionBookTest, RefusesInvalidRanges) {
  const auto message = [](std::vector<std::vector<uint64_t>> nodes, std::vector<std::vector<uint64_t>> edges) {
    return PartitionBook::Make(TwoTypes(), std::move(nodes), std::move(edges)).status().message();
  };
  EXPECT_THAT(message({{0, 1}}, {{0, 1}, {0, 1}}), HasSubstr("ranges of 1 node"));
  EXPECT_THAT(message({{0, 1}, {0, 1, 2}}, {{0, 1}, {0, 1}}), HasSubstr("'b' have 3 boundaries, expected 2"));
  EXPECT_THAT(message({{1, 1}, {0, 1}}, {{0, 1}, {0, 1}}), HasSubstr("start with 1"));
  EXPECT_THAT(message({{0, 1, 0}, {0, 1, 1}}, {{0, 1, 1}, {0, 1, 1}}), HasSubstr("not ascending"));
  EXPECT_THAT(message({{0}, {0}}, {{0}, {0}}), HasSubstr("at least one partition"));
  EXPECT_THAT(message({{0, uint64_t{1} << 32}, {0, 0}}, {{0, 1}, {0, 1}}), HasSubstr("use more partitions"));
  EXPECT_THAT(message({{0, 1}, {0, 1}}, {{0, ~uint64_t{0}}, {0, 1}}), HasSubstr("2^64 or more ids"));
}

TEST(PartitionBookDeathTest, UnknownIdIsFatal) {
  EXPECT_DEATH(ThreePartitions().OwnerOf(NodeTypeId(0), GlobalNodeId(5)), "node 5 of 'a'");
}

}  // namespace
}  // namespace espalier::graph
