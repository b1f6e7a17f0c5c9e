// Compares the rows of Streaming with those of MakeUndirectedGraph, in one chunk and in many.
#include "services/partition/stream_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/partition/restream.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

using testing::CommunityGraph;
using ::testing::ElementsAre;
using testing::GraphOf;
using testing::GridGraph;
using testing::TypedGraph;

// Makes scratch space in memory and remembers its sizes.
struct Scratch {
  std::vector<uint64_t> sizes;

  std::function<Result<ScratchSpace>(uint64_t)> Maker() {
    return [this](uint64_t size) -> Result<ScratchSpace> {
      sizes.push_back(size);
      const auto numbers = std::make_shared<std::vector<uint64_t>>((size + 7) / 8);
      return ScratchSpace{.bytes = std::as_writable_bytes(std::span(*numbers)).first(size), .owner = numbers};
    };
  }
};

// Returns the neighbors of a vertex, each as often as there are edges, ascending.
std::vector<uint32_t> NeighborsIn(const UndirectedGraph& graph, uint64_t vertex, uint32_t common) {
  std::vector<uint32_t> neighbors;
  for (uint64_t k = graph.offsets[vertex]; k < graph.offsets[vertex + 1]; ++k) {
    neighbors.insert(neighbors.end(), graph.weights.empty() ? common : graph.weights[k], graph.neighbors[k]);
  }
  return neighbors;
}

std::vector<uint32_t> SortedRow(const StreamRows& rows, uint64_t row) {
  const std::span<const uint32_t> neighbors =
      rows.neighbors().subspan(rows.offsets()[row], rows.offsets()[row + 1] - rows.offsets()[row]);
  std::vector<uint32_t> sorted(neighbors.begin(), neighbors.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

void ExpectRowsOf(const graph::SourceGraph& graph, const StreamRows& rows, const Permutation& order) {
  const UndirectedGraph undirected = *MakeUndirectedGraph(graph, 1);
  ASSERT_EQ(rows.offsets().size(), order.size() + 1);
  for (uint64_t row = 0; row < order.size(); ++row) {
    EXPECT_EQ(SortedRow(rows, row), NeighborsIn(undirected, order.At(row), rows.repetitions())) << row;
  }
}

TEST(StreamRowsTest, HoldTheNeighborsInTheOrderOfTheVisits) {
  for (const graph::SourceGraph& graph :
       {CommunityGraph(3, 100, 4, 2, /*seed=*/1), TypedGraph(60, /*seed=*/2), GridGraph(9, 11)}) {
    const Permutation order = StreamOrder(/*seed=*/5, VertexFirst(graph).back());
    ExpectRowsOf(graph, *StreamRows::Build(graph, order, {.threads = 3}), order);
  }
}

TEST(StreamRowsTest, AreTheSameInChunksOfAFile) {
  const graph::SourceGraph graph = CommunityGraph(3, 100, 4, 2, /*seed=*/1);
  const Permutation order = StreamOrder(/*seed=*/5, 300);
  Scratch scratch;
  const Result<StreamRows> rows =
      StreamRows::Build(graph, order, {.threads = 3, .max_neighbors_in_memory = 100, .make_scratch = scratch.Maker()});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_THAT(scratch.sizes, ElementsAre(8 * graph.edges[0].num_edges()));  // one file
  EXPECT_GT(rows->offsets().back(), 2000u);                                 // thus more than 20 chunks
  ExpectRowsOf(graph, *rows, order);
}

TEST(StreamRowsTest, FindRepetitionsSharedByAllNeighbors) {
  const auto repetitions = [](const testing::Edges& edges) {
    return StreamRows::Build(GraphOf(4, edges), StreamOrder(1, 4), {})->repetitions();
  };
  EXPECT_EQ(repetitions({}), 1u);
  EXPECT_EQ(repetitions({{0, 1}, {1, 2}}), 1u);
  EXPECT_EQ(repetitions({{0, 1}, {1, 0}, {2, 3}, {2, 3}}), 2u);
  EXPECT_EQ(repetitions({{0, 1}, {1, 0}, {2, 3}}), 1u);
  EXPECT_EQ(repetitions({{0, 1}, {0, 1}, {1, 0}}), 3u);
}

TEST(StreamRowsTest, LeaveOutSelfLoops) {
  const StreamRows rows = *StreamRows::Build(GraphOf(2, {{0, 0}, {0, 1}, {1, 1}}), StreamOrder(1, 2), {});
  EXPECT_THAT(rows.offsets(), ElementsAre(0, 1, 2));
}

TEST(StreamRowsTest, RefuseTooLongRow) {
  const graph::SourceGraph star = GraphOf(4, {{0, 1}, {0, 2}, {3, 0}});
  Scratch scratch;
  const Status refused =
      StreamRows::Build(star, StreamOrder(1, 4), {.max_neighbors_in_memory = 2, .make_scratch = scratch.Maker()})
          .status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(),
            "a node has 3 neighbors, more than the 2 that fit into the memory of the partitioner: give it more memory");
}

TEST(StreamRowsTest, ReturnErrorOfMakeScratch) {
  const auto full = [](uint64_t) -> Result<ScratchSpace> { return ResourceExhausted("the disk is full"); };
  EXPECT_EQ(StreamRows::Build(GridGraph(3, 3), StreamOrder(1, 9), {.max_neighbors_in_memory = 10, .make_scratch = full})
                .status()
                .message(),
            "the disk is full");
}

}  // namespace
}  // namespace espalier::partition
