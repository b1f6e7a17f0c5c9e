#include "services/trainer/evaluation/chunk_nodes.h"

#include <gtest/gtest.h>

namespace espalier::trainer {
namespace {

using job::EvaluationNeighborhood;

graph::PartitionBook MakeBook(uint64_t nodes, uint64_t edges, uint64_t first_part = 0) {
  const auto schema = *graph::GraphSchema::Make({"node"}, {{"node", "edge", "node"}});
  if (first_part == 0) return *graph::PartitionBook::Make(schema, {{0, nodes}}, {{0, edges}});
  return *graph::PartitionBook::Make(schema, {{0, first_part, nodes}}, {{0, first_part, edges}});
}

// Returns the chunk size. Fan-outs and widths begin with the layer that reads the inputs.
uint64_t Chunk(const std::vector<int32_t>& fanouts, EvaluationNeighborhood neighborhood,
               const graph::PartitionBook& book, const std::vector<int64_t>& row_widths) {
  sampler::SamplingSpec spec;
  for (const int32_t fanout : fanouts) spec.layers.push_back({{fanout}});
  return ChooseChunkNodes(spec, neighborhood, book, row_widths);
}

TEST(ChunkNodesTest, SmallGraphUsesLargeChunks) {
  const auto cora = MakeBook(2708, 10556);
  EXPECT_EQ(Chunk({10, 10}, EvaluationNeighborhood::kFull, cora, {1433, 16}), 4096u);
  EXPECT_EQ(Chunk({-1, -1}, EvaluationNeighborhood::kSampled, cora, {1433, 16}), 4096u);
}

// 25 million edges, 100 features, hidden layers of width 256: with 50 in-edges, a node reads 51 KiB of hidden rows.
TEST(ChunkNodesTest, RowsReadByLayerAreLimited) {
  const auto book = MakeBook(495'755, 25'000'000);
  EXPECT_EQ(Chunk({10, 15}, EvaluationNeighborhood::kFull, book, {100, 256}), 2048u);
  EXPECT_EQ(Chunk({10, 15}, EvaluationNeighborhood::kSampled, book, {100, 256}), 2048u);
  EXPECT_EQ(Chunk({15, 10, 5}, EvaluationNeighborhood::kFull, book, {100, 256, 256}), 2048u);
  // A sample of three hops reads the features of most nodes. It reads more hidden rows if the last layer has a larger
  // fan-out.
  EXPECT_EQ(Chunk({15, 10, 5}, EvaluationNeighborhood::kSampled, book, {100, 256, 256}), 1024u);
  EXPECT_EQ(Chunk({5, 10, 15}, EvaluationNeighborhood::kSampled, book, {100, 256, 256}), 512u);
  EXPECT_EQ(Chunk({15, 10, 5}, EvaluationNeighborhood::kFull, book, {100'000, 256, 256}), 128u);
}

TEST(ChunkNodesTest, DoesNotDependOnPartitions) {
  for (const uint64_t first_part : {uint64_t{1}, uint64_t{400'000}}) {
    const auto book = MakeBook(495'755, 25'000'000, first_part);
    EXPECT_EQ(Chunk({15, 10, 5}, EvaluationNeighborhood::kSampled, book, {100, 256, 256}), 1024u);
  }
}

}  // namespace
}  // namespace espalier::trainer
