#include "services/shard/check_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/sampler/testing/reference_neighbor_source.h"
#include "services/shard/graph_shard.h"
#include "services/shard/local_graph.h"
#include "services/shard/time_columns.h"

namespace espalier::shard {
namespace {

using ::testing::HasSubstr;

Tensor U32(std::vector<uint32_t> values) { return Tensor::FromVector(std::move(values)); }

// Three nodes; in-edges 1 -> 0, 2 -> 0, 0 -> 2; split "public" with node 1 in train.
graph::PartitionBook Book() {
  Result<graph::PartitionBook> book =
      graph::PartitionBook::Make(sampler::testing::HomogeneousSchema(), {{0, 3}}, {{0, 3}});
  ESPALIER_CHECK(book.ok()) << book.status().ToString();
  return *std::move(book);
}

graph::Partition Sound() {
  const auto ordinals = [](std::vector<uint64_t> values) { return Tensor::FromVector(std::move(values)); };
  graph::Partition partition;
  partition.nodes = {
      {.count = 3, .original_ids = U32({0, 1, 2}), .columns = {{"feature", Tensor::Zeros(DType::kF32, {3, 2})}}}};
  partition.in_edges = {{.indptr = U32({0, 2, 2, 3}), .indices = U32({1, 2, 0})}};
  partition.directory = {{.first = 0, .global_ids = U32({0, 1, 2})}};
  partition.splits["public"][0] = {
      {1, U32({1}), ordinals({0})}, {0, U32({}), ordinals({})}, {0, U32({}), ordinals({})}};
  partition.edge_columns = {{{"weight", Tensor::Zeros(DType::kF32, {3})}}};
  return partition;
}

// A split of edges with 2 -> 0 in train.
void AddSplitOfEdgeAt(Tensor positions, graph::Partition& partition) {
  const graph::EdgeSplitPart none = {.total = 0, .sources = U32({}), .destinations = U32({}), .ordinals = U32({})};
  partition.edge_splits["links"][0] = {{.total = 1,
                                        .sources = U32({2}),
                                        .destinations = U32({0}),
                                        .ordinals = U32({0}),
                                        .positions = std::move(positions)},
                                       none,
                                       none};
}

TEST(CheckPartitionTest, AcceptsValidPartition) {
  EXPECT_EQ(CheckPartition(Book(), Sound()), Status());
  for (const uint32_t position : {1u, 3u}) {  // the edge; 3 in-edges: found by its ends
    graph::Partition partition = Sound();
    AddSplitOfEdgeAt(U32({position}), partition);
    EXPECT_EQ(CheckPartition(Book(), partition), Status());
  }
}

TEST(CheckPartitionTest, NamesDamage) {
  struct Case {
    const char* words;
    std::function<void(graph::Partition&)> damage;
  };
  const std::vector<Case> cases = {
      {"4 nodes", [](auto& p) { p.nodes[0].count = 4; }},
      {"original_ids",
       [](auto& p) {
         p.nodes[0].original_ids = U32({0, 1});
       }},
      {"original_ids", [](auto& p) { p.nodes[0].original_ids = Tensor::Zeros(DType::kI64, {3}); }},
      {"column 'feature'",
       [](auto& p) {
         p.nodes[0].columns["feature"] = Tensor::Zeros(DType::kF32, {2, 2});
       }},
      {"indptr of",
       [](auto& p) {
         p.in_edges[0].indptr = U32({0, 2, 3});
       }},
      {"indptr[2]",
       [](auto& p) {
         p.in_edges[0].indptr = U32({0, 2, 1, 3});
       }},
      {"indptr[1]",
       [](auto& p) {
         p.in_edges[0].indptr = U32({0, 4, 4, 4});
       }},
      {"from 1 to 3",
       [](auto& p) {
         p.in_edges[0].indptr = U32({1, 2, 2, 3});
       }},
      {"from 0 to 2",
       [](auto& p) {
         p.in_edges[0].indptr = U32({0, 2, 2, 2});
       }},
      {"indices of",
       [](auto& p) {
         p.in_edges[0].indices = U32({1, 2});
       }},
      {"column 'weight'", [](auto& p) { p.edge_columns[0]["weight"] = Tensor::Zeros(DType::kF32, {4}); }},
      {"directory", [](auto& p) { p.directory[0].global_ids = Tensor::Zeros(DType::kF32, {3}); }},
      {"number of node types is 0, expected 1", [](auto& p) { p.nodes.clear(); }},
      {"number of node types in the directory is 0, expected 1", [](auto& p) { p.directory.clear(); }},
      {"number of edge types", [](auto& p) { p.in_edges.clear(); }},
      {"node type 0 has 2 parts, expected 3", [](auto& p) { p.splits["public"][0].pop_back(); }},
      {"node type 5 is of a type that does not exist", [](auto& p) { p.splits["public"][5] = {}; }},
      {"edge type 0 has 0 parts, expected 3", [](auto& p) { p.edge_splits["links"][0] = {}; }},
      {"edge type 5 is of a type that does not exist", [](auto& p) { p.edge_splits["links"][5] = {}; }},
      {"train of split 'public'", [](auto& p) { p.splits["public"][0][0].local_ids = U32({3}); }},
      {"train of split 'public'", [](auto& p) { p.splits["public"][0][0].total = 0; }},
      {"ordinals of train",
       [](auto& p) {
         p.splits["public"][0][0].ordinals = U32({0, 0});
       }},
      {"positions of train of split 'links'",
       [](auto& p) {
         AddSplitOfEdgeAt(U32({1, 1}), p);
       }},
      {"position 0 of train of split 'links'", [](auto& p) { AddSplitOfEdgeAt(U32({0}), p); }},  // from another source
      {"position 0 of train of split 'links'",
       [](auto& p) { AddSplitOfEdgeAt(U32({2}), p); }},  // to another destination
      {"position 0 of train of split 'links'", [](auto& p) { AddSplitOfEdgeAt(U32({4}), p); }},
  };
  for (const Case& c : cases) {
    graph::Partition partition = Sound();
    c.damage(partition);
    const Status status = CheckPartition(Book(), partition);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << c.words;
    EXPECT_THAT(status.message(), HasSubstr("partition 0: "));
    EXPECT_THAT(status.message(), HasSubstr(c.words));
    EXPECT_EQ(GraphShard::Make(Book(), partition).status(), status);
  }
  graph::Partition other = Sound();
  other.id = PartitionId(1);
  EXPECT_EQ(CheckPartition(Book(), other).code(), StatusCode::kInvalidArgument);
}

TEST(TimeColumnsTest, TypeBeyondEdgeColumnsHasNone) {
  graph::Partition partition = Sound();
  partition.in_edges.push_back(partition.in_edges[0]);
  partition.edge_columns[0]["when"] = Tensor::Zeros(DType::kI64, {3});
  TimeColumns times(partition);
  const Result<const Tensor*> of_second = times.Get(EdgeTypeId(1), "when");
  ASSERT_TRUE(of_second.ok()) << of_second.status().ToString();
  EXPECT_EQ(*of_second, nullptr);
  EXPECT_TRUE(times.Get(EdgeTypeId(0), "when").ok());
}

TEST(OpenLocalGraphTest, DescribesPartitions) {
  const Result<std::unique_ptr<sampler::PartitionedGraph>> graph = OpenLocalGraph(Book(), {Sound()});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const sampler::GraphDescription& description = (*graph)->description();
  ASSERT_EQ(description.columns.size(), 2u);
  EXPECT_EQ(description.columns[0].name, "feature");
  EXPECT_EQ(description.columns[0].row_shape, std::vector<int64_t>{2});
  EXPECT_EQ(description.columns[1].name, sampler::kOriginalIdColumn);
  EXPECT_EQ(description.columns[1].dtype, DType::kU64);
  const std::vector<sampler::EdgeColumnDescription> edge_columns = {{EdgeTypeId(0), "weight", DType::kF32, {}}};
  EXPECT_EQ(description.edge_columns, edge_columns);
  ASSERT_EQ(description.splits.size(), 1u);
  EXPECT_EQ(description.splits[0].train, 1u);
  EXPECT_EQ(OpenLocalGraph(Book(), {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(OpenLocalGraphTest, RefusesPartitionsThatDisagree) {
  Result<graph::PartitionBook> book =
      graph::PartitionBook::Make(sampler::testing::HomogeneousSchema(), {{0, 3, 6}}, {{0, 3, 6}});
  ASSERT_TRUE(book.ok());
  graph::Partition second = Sound();
  second.id = PartitionId(1);
  EXPECT_TRUE(OpenLocalGraph(*book, {Sound(), second}).ok());
  EXPECT_EQ(OpenLocalGraph(*book, {Sound(), Sound()}).status().code(), StatusCode::kInvalidArgument);
  second.nodes[0].columns.clear();
  EXPECT_THAT(OpenLocalGraph(*book, {Sound(), second}).status().message(), HasSubstr("other columns"));
  second = Sound();
  second.id = PartitionId(1);
  second.edge_columns.resize(1);
  second.edge_columns[0]["stars"] = Tensor::Zeros(DType::kF32, {3});
  EXPECT_THAT(OpenLocalGraph(*book, {Sound(), second}).status().message(), HasSubstr("other columns"));
}

}  // namespace
}  // namespace espalier::shard
