#include "services/shard/graph_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "services/graph/generators.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

graph::SourceGraph SmallGraph() {
  graph::PowerLawOptions options;
  options.num_nodes = 400;
  options.num_edges = 3000;
  options.community_size = 100;
  options.features.width = 6;
  options.seed = 8;
  Result<graph::SourceGraph> graph = graph::GeneratePowerLawGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

// Calls a partition and returns the response, which a shard passes to the callback before the call returns.
template <class T, class Ask>
Result<T> Answer(const Ask& ask) {
  std::optional<Result<T>> answer;
  ask([&](Result<T> a) { answer.emplace(std::move(a)); });
  ESPALIER_CHECK(answer.has_value()) << "no answer";
  return *std::move(answer);
}

class GraphShardTest : public ::testing::Test {
 protected:
  std::shared_ptr<GraphShard> Limited(ShardLimits limits) {
    graph::PartitionBook book;
    std::vector<graph::Partition> partitions = testing::MakeTestPartitions(source, 2, 1, &book);
    Result<std::shared_ptr<GraphShard>> limited = GraphShard::Make(book, std::move(partitions[1]), limits);
    ESPALIER_CHECK(limited.ok()) << limited.status().ToString();
    return *limited;
  }

  static Status Sample(GraphShard& requested, uint16_t type, int32_t fanout, std::vector<LocalNodeId> nodes) {
    return Answer<sampler::PartitionHopSample>([&](const auto& done) {
             requested.SampleInEdges({.relations = {{EdgeTypeId(type), fanout, std::move(nodes)}}}, Soon(), done);
           })
        .status();
  }

  static Status Gather(GraphShard& requested, uint16_t type, const std::string& column, std::vector<LocalNodeId> nodes,
                       size_t row_bytes, size_t num_positions) {
    std::vector<std::byte> out(1024);
    const std::vector<uint32_t> positions(num_positions, 0);
    Status status;
    requested.GatherRows(NodeTypeId(type), column, nodes, {out.data(), row_bytes, positions}, Soon(),
                         [&](Status s) { status = std::move(s); });
    return status;
  }

  const graph::SourceGraph source = SmallGraph();
  testing::TestGraph test = testing::MakeTestGraph(source, 3, 1);
  GraphShard& shard = *test.shards[1];
  const uint32_t num_owned = static_cast<uint32_t>(test.book.NumOwnedNodes(PartitionId(1), NodeTypeId(0)));
};

TEST_F(GraphShardTest, RowsOfAllPartitionsAreTheSourcesRows) {
  std::vector<GlobalNodeId> nodes;
  for (uint64_t v = 0; v < 400; ++v) nodes.push_back(GlobalNodeId((v * 13) % 400));
  const std::vector<uint64_t> original = testing::OriginalIds(*test.graph, NodeTypeId(0), nodes);
  for (const char* column : {graph::kFeatureColumn, graph::kLabelColumn}) {
    const Result<Tensor> rows = test.graph->GatherRows(NodeTypeId(0), column, nodes, Soon());
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    const Tensor& expected = source.nodes[0].columns.at(column);
    ASSERT_EQ(rows->dtype(), expected.dtype());
    const size_t row_bytes = expected.row_bytes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(std::memcmp(rows->bytes() + i * row_bytes, expected.bytes() + original[i] * row_bytes, row_bytes), 0);
    }
  }
}

TEST_F(GraphShardTest, LooksUpOriginalIds) {
  std::vector<OriginalNodeId> original;
  for (uint64_t v = 0; v < 400; ++v) original.push_back(OriginalNodeId((v * 17) % 400));
  const Result<std::vector<GlobalNodeId>> nodes = test.graph->ToGlobalIds(NodeTypeId(0), original, Soon());
  ASSERT_TRUE(nodes.ok()) << nodes.status().ToString();
  const std::vector<uint64_t> back = testing::OriginalIds(*test.graph, NodeTypeId(0), *nodes);
  for (size_t i = 0; i < original.size(); ++i) EXPECT_EQ(back[i], original[i].value);
}

TEST_F(GraphShardTest, AnEpochsStepsCoverTheSplitOnce) {
  const std::vector<uint64_t>& expected = source.splits.at(graph::kRandomSplit).at(0).train;
  std::vector<uint64_t> seen, unshuffled;
  for (uint32_t step = 0;; ++step) {
    const Result<sampler::GlobalBatch> batch =
        test.graph->SeedsOfStep({.split = graph::kRandomSplit, .seed = 4, .step = step, .batch_size = 7}, Soon());
    const Result<sampler::GlobalBatch> plain = test.graph->SeedsOfStep(
        {.split = graph::kRandomSplit, .shuffle = false, .step = step, .batch_size = 7}, Soon());
    ASSERT_TRUE(batch.ok() && plain.ok()) << batch.status().ToString() << plain.status().ToString();
    EXPECT_EQ(batch->seeds.size(), plain->seeds.size());
    if (batch->seeds.empty()) break;
    for (const uint64_t id : testing::OriginalIds(*test.graph, NodeTypeId(0), batch->seeds)) seen.push_back(id);
    for (const uint64_t id : testing::OriginalIds(*test.graph, NodeTypeId(0), plain->seeds)) unshuffled.push_back(id);
  }
  EXPECT_EQ(unshuffled, expected);
  EXPECT_NE(seen, expected);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, expected);
}

TEST_F(GraphShardTest, RefusesRequestsForNodesOfOtherOwners) {
  EXPECT_EQ(Sample(shard, 0, 5, {LocalNodeId(num_owned - 1)}), Status());
  EXPECT_EQ(Sample(shard, 0, 5, {LocalNodeId(num_owned)}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Sample(shard, 0, 5, {LocalNodeId(~0u)}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Sample(shard, 1, 5, {LocalNodeId(0)}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Sample(shard, 0, 0, {LocalNodeId(0)}).message(), HasSubstr("fan-out 0"));
  EXPECT_THAT(Sample(shard, 0, -7, {LocalNodeId(0)}).message(), HasSubstr("fan-out -7"));

  EXPECT_EQ(Gather(shard, 0, graph::kFeatureColumn, {LocalNodeId(0)}, 24, 1), Status());
  EXPECT_EQ(Gather(shard, 0, graph::kFeatureColumn, {LocalNodeId(num_owned)}, 24, 1).code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(Gather(shard, 0, graph::kFeatureColumn, {LocalNodeId(0)}, 23, 1).message(), HasSubstr("24 bytes"));
  EXPECT_THAT(Gather(shard, 0, graph::kFeatureColumn, {LocalNodeId(0)}, 24, 2).message(), HasSubstr("2 positions"));
  EXPECT_THAT(Gather(shard, 0, "x", {LocalNodeId(0)}, 24, 1).message(),
              HasSubstr("it has 'original_id', 'node-feat', 'node-label'"));
  EXPECT_EQ(Gather(shard, 9, graph::kFeatureColumn, {}, 24, 0).code(), StatusCode::kInvalidArgument);

  const auto find = [&](uint64_t edge) {
    const std::vector<GlobalEdgeId> edges = {GlobalEdgeId(edge)};
    return Answer<Tensor>([&](const auto& done) { shard.FindEdges(EdgeTypeId(0), edges, Soon(), done); });
  };
  const auto first = test.book.EdgeFirst(EdgeTypeId(0));
  EXPECT_TRUE(find(first[1]).ok());
  EXPECT_TRUE(find(first[2] - 1).ok());
  EXPECT_EQ(find(first[1] - 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(find(first[2]).status().code(), StatusCode::kInvalidArgument);

  const auto look_up = [&](uint64_t id) {
    const std::vector<OriginalNodeId> ids = {OriginalNodeId(id)};
    return Answer<Tensor>([&](const auto& done) { shard.ToGlobalIds(NodeTypeId(0), ids, Soon(), done); });
  };
  EXPECT_TRUE(look_up(200).ok());
  EXPECT_EQ(look_up(0).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(look_up(~uint64_t{0}).status().code(), StatusCode::kOutOfRange);

  const std::vector<LocalNodeId> beyond = {LocalNodeId(num_owned)};
  EXPECT_EQ(
      Answer<Tensor>([&](const auto& done) { shard.InDegrees(EdgeTypeId(0), beyond, Soon(), done); }).status().code(),
      StatusCode::kInvalidArgument);
}

TEST_F(GraphShardTest, RefusesInvalidSeedQueries) {
  const auto seeds = [&](const sampler::SeedQuery& query) {
    return Answer<sampler::PartitionSeeds>([&](const auto& done) { shard.SeedsOfStep(query, Soon(), done); });
  };
  EXPECT_TRUE(seeds({.split = graph::kRandomSplit, .batch_size = ~uint64_t{0}}).ok());
  EXPECT_EQ(seeds({.split = graph::kRandomSplit}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(seeds({.split = "public", .batch_size = 1}).status().message(), HasSubstr("'random'"));
  EXPECT_EQ(seeds({.node_type = NodeTypeId(4), .split = graph::kRandomSplit, .batch_size = 1}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(seeds({.split = graph::kRandomSplit, .part = static_cast<graph::SplitPartName>(7), .batch_size = 1})
                .status()
                .code(),
            StatusCode::kNotFound);
  const Result<sampler::PartitionSeeds> past = seeds({.split = graph::kRandomSplit, .step = ~0u, .batch_size = ~0u});
  ASSERT_TRUE(past.ok());
  EXPECT_TRUE(past->nodes.empty());
}

TEST_F(GraphShardTest, RefusesRequestsPastItsLimits) {
  const auto limited = Limited({.max_draws_per_request = 8, .max_rows_per_request = 3, .mutable_tensor_bytes = 100});
  const std::vector<LocalNodeId> three(3, LocalNodeId(0)), four(4, LocalNodeId(0));
  EXPECT_EQ(Sample(*limited, 0, 1, three), Status());
  EXPECT_EQ(Sample(*limited, 0, 1, four).code(), StatusCode::kResourceExhausted);
  const Status draws =
      Answer<sampler::PartitionHopSample>([&](const auto& done) {
        limited->SampleInEdges({.relations = {{EdgeTypeId(0), 2'000'000'000, three}}, .draw = {.replace = true}},
                               Soon(), done);
      }).status();
  EXPECT_EQ(draws.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(draws.message(), HasSubstr("the remaining limit of the request is 8"));
  EXPECT_EQ(Gather(*limited, 0, graph::kFeatureColumn, four, 24, 4).code(), StatusCode::kResourceExhausted);
  const sampler::TensorSpec wide{.id = {sampler::RowSpace::Nodes(NodeTypeId(0)), "h", {}}, .row_shape = {64}};
  const auto created =
      Answer<sampler::TensorDescription>([&](const auto& done) { limited->tensors().Create(wide, 1, Soon(), done); });
  EXPECT_EQ(created.status().code(), StatusCode::kResourceExhausted);
}

TEST_F(GraphShardTest, WrittenRowsAreReadBackAcrossPartitions) {
  sampler::PartitionedGraph& graph = *test.graph;
  ASSERT_TRUE(graph.CreateTensor(NodeTypeId(0), "h", DType::kF32, {2}, Soon()).ok());
  ASSERT_TRUE(graph.CreateTensor(NodeTypeId(0), "h", DType::kF32, {2}, Soon()).ok());
  EXPECT_EQ(graph.CreateTensor(NodeTypeId(0), "h", DType::kF32, {3}, Soon()).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(graph.CreateTensor(NodeTypeId(0), "bad name", DType::kF32, {2}, Soon()).code(),
            StatusCode::kInvalidArgument);
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(399), GlobalNodeId(0), GlobalNodeId(200)};
  const Tensor rows = Tensor::FromVector(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
  ASSERT_TRUE(graph.WriteRows(NodeTypeId(0), "h", nodes, rows, Soon()).ok());
  EXPECT_EQ(graph.WriteRows(NodeTypeId(0), "h", nodes, Tensor::Zeros(DType::kF64, {3, 2}), Soon()).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(graph.WriteRows(NodeTypeId(0), graph::kFeatureColumn, nodes, rows, Soon()).code(), StatusCode::kNotFound);

  const std::vector<GlobalNodeId> read = {GlobalNodeId(0), GlobalNodeId(1), GlobalNodeId(399)};
  const Result<Tensor> back = graph.GatherRows(NodeTypeId(0), "h", read, Soon());
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_THAT(back->values<float>(), ElementsAre(3, 4, 0, 0, 1, 2));

  EXPECT_TRUE(graph.DropTensor(NodeTypeId(0), "h", Soon()).ok());
  EXPECT_TRUE(graph.DropTensor(NodeTypeId(0), "h", Soon()).ok());
  EXPECT_EQ(graph.GatherRows(NodeTypeId(0), "h", read, Soon()).status().code(), StatusCode::kNotFound);
}

// All elements of a row have the same value, so a torn row has two different values.
TEST_F(GraphShardTest, ReadersNeverSeeHalfAWrite) {
  constexpr int64_t kWidth = 64;
  sampler::PartitionedGraph& graph = *test.graph;
  ASSERT_TRUE(graph.CreateTensor(NodeTypeId(0), "h", DType::kF32, {kWidth}, Soon()).ok());
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(5), GlobalNodeId(6)};
  std::jthread writer([&] {
    for (int i = 0; i < 300; ++i) {
      const Tensor rows = Tensor::FromVector(std::vector<float>(2 * kWidth, static_cast<float>(i)), {2, kWidth});
      EXPECT_TRUE(graph.WriteRows(NodeTypeId(0), "h", nodes, rows, Soon()).ok());
    }
  });
  for (int i = 0; i < 300; ++i) {
    const Result<Tensor> rows = graph.GatherRows(NodeTypeId(0), "h", nodes, Soon());
    ASSERT_TRUE(rows.ok());
    for (int64_t row = 0; row < 2; ++row) {
      const auto values = rows->values<float>().subspan(static_cast<size_t>(row * kWidth), kWidth);
      EXPECT_EQ(std::count(values.begin(), values.end(), values[0]), kWidth);
    }
  }
}

}  // namespace
}  // namespace espalier::shard
