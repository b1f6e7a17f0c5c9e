// The order of saved rows is the same for any partitioning.
#include "services/client/tensors/row_order.h"

#include <gtest/gtest.h>

#include <map>

#include "services/client/testing/tensors_everywhere.h"

namespace espalier::client {
namespace {

// Reads all rows in several queries.
std::vector<GlobalRowId> RowsIn(RowOrder& order) {
  std::vector<GlobalRowId> all;
  for (uint64_t count = 1;; count = 2 * count + 1) {
    const auto next = order.Next(count);
    ESPALIER_CHECK(next.ok()) << next.status().ToString();
    ESPALIER_CHECK(next->size() <= count);
    all.insert(all.end(), next->begin(), next->end());
    if (next->size() < count) return all;
  }
}

class RowOrderTest : public testing::TensorsEverywhere {};

TEST_P(RowOrderTest, NodesAndOwnRowsAreOrderedById) {
  for (const RowSpace& space : {RowSpace::Nodes(NodeTypeId(0)), RowSpace::Nodes(NodeTypeId(1)), RowSpace::Own(1001)}) {
    RowOrder order(*graph_, space);
    const std::vector<GlobalRowId> rows = RowsIn(order);
    ASSERT_EQ(rows.size(), graph_->partitions().tensors().NumRows(space));
    std::vector<uint64_t> original(rows.size());
    for (uint64_t row = 0; row < original.size(); ++row) original[row] = row;
    if (space.of == sampler::RowsOf::kNodes) original = testing::ListOriginalIds(served_.local(), space);
    for (uint64_t i = 0; i < rows.size(); ++i) ASSERT_EQ(original[rows[i].value], i);
    EXPECT_TRUE(RowsIn(order).empty());
  }
}

TEST_P(RowOrderTest, EdgesAreOrderedAsInWholeGraph) {
  const shard::testing::TestGraph whole = shard::testing::MakeTestGraph(testing::SmallTypedGraph(), 1, 1);
  for (const EdgeTypeId type : {EdgeTypeId(0), EdgeTypeId(1)}) {
    const RowSpace space = RowSpace::Edges(type);
    RowOrder order(*graph_, space);
    const std::vector<GlobalRowId> rows = RowsIn(order);
    const std::vector<uint64_t> expected = testing::ListOriginalIds(whole, space);
    const std::vector<uint64_t> original = testing::ListOriginalIds(served_.local(), space);
    ASSERT_EQ(rows.size(), expected.size());
    for (uint64_t i = 0; i < rows.size(); ++i) ASSERT_EQ(original[rows[i].value], expected[i]) << "edge " << i;
  }
}

// A node with many in-edges is read in several queries.
TEST_P(RowOrderTest, RequestSizeDoesNotMatter) {
  for (const EdgeTypeId type : {EdgeTypeId(0), EdgeTypeId(1)}) {
    const RowSpace space = RowSpace::Edges(type);
    RowOrder at_once(*graph_, space);
    const std::vector<GlobalRowId> expected = RowsIn(at_once);
    RowOrder few(*graph_, space, /*edges_per_request=*/7);
    EXPECT_EQ(RowsIn(few), expected);
    EXPECT_EQ(few.endpoint_hash(), at_once.endpoint_hash());
  }
}

TEST_P(RowOrderTest, HashEqualsThatOfEdgesOfGraph) {
  const auto ends_of = [](const DistGraph& graph, EdgeTypeId type) {
    RowOrder order(graph, RowSpace::Edges(type));
    RowsIn(order);
    return order.endpoint_hash();
  };
  const shard::testing::TestGraph whole = shard::testing::MakeTestGraph(testing::SmallTypedGraph(), 1, 1);
  const DistGraph in_one_piece("whole", std::shared_ptr<sampler::PartitionedGraph>(whole.graph.get(), [](auto*) {}),
                               Context());
  const uint64_t first = ends_of(*graph_, EdgeTypeId(0)), second = ends_of(*graph_, EdgeTypeId(1));
  EXPECT_EQ(first, ends_of(in_one_piece, EdgeTypeId(0)));
  EXPECT_EQ(second, ends_of(in_one_piece, EdgeTypeId(1)));
  EXPECT_NE(first, second);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RowOrderTest, testing::kEverywhere, testing::NameOfReached);

}  // namespace
}  // namespace espalier::client
