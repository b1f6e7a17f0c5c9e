// The public client API, compared with the same graph in this process.
#include "services/client/graph/dist_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/base/testing/call_count.h"
#include "services/client/loaders/node_data_loader.h"
#include "services/client/session/describe.h"
#include "services/client/testing/served_graph.h"
#include "services/server/describe_graph.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;
using testing::ServedGraph;
using testing::ServedGraphOptions;

Environment MakeEnvironment(const ServedGraph& served) {
  std::string servers;
  for (const std::string& address : served.addresses()) servers += (servers.empty() ? "" : ",") + address;
  return {{"ESPALIER_SERVERS", servers}, {"ESPALIER_ACCESS", "rpc"}, {"ESPALIER_CALL_SECONDS", "30"}};
}

std::unique_ptr<DistGraph> OpenGraph(const ServedGraph& served) {
  const auto context = Initialize(MakeEnvironment(served));
  ESPALIER_CHECK(context.ok()) << context.status().ToString();
  auto graph = DistGraph::Open(*context);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

TEST(SessionTest, RefusesServersOfDifferentPartitionings) {
  ServedGraph whole(testing::SmallGraph(), 2), other(testing::SmallGraph(), 1);
  const auto code_of = [](std::vector<std::string> addresses, std::string key = "") {
    SessionOptions options;
    options.addresses = std::move(addresses);
    options.partition_key = std::move(key);
    return Connect(options).status().code();
  };
  EXPECT_EQ(code_of({whole.addresses()[1], whole.addresses()[0]}), StatusCode::kOk);  // in any order
  EXPECT_EQ(code_of({whole.addresses()[0]}), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of({whole.addresses()[0], whole.addresses()[0]}), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of({whole.addresses()[0], other.addresses()[0]}), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(whole.addresses(), std::string(64, '1')), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of({}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({"nonsense"}), StatusCode::kInvalidArgument);
}

TEST(SessionTest, MapsOnlyOfferedPartitions) {
  ServedGraph served(testing::SmallGraph(), 1);
  SessionOptions options;
  options.addresses = served.addresses();
  const auto automatic = Connect(options);
  ASSERT_TRUE(automatic.ok());
  EXPECT_THAT(automatic->access, ::testing::ElementsAre(Access::kRpc));
  options.access = Access::kMapped;
  EXPECT_EQ(Connect(options).status().code(), StatusCode::kFailedPrecondition);
}

TEST(DistGraphTest, HasTypesCountsAndColumns) {
  ServedGraph served(testing::SmallTypedGraph(), 2);
  const auto graph = OpenGraph(served);
  EXPECT_EQ(graph->name(), "test");
  EXPECT_EQ(graph->schema(), served.local().book.schema());
  EXPECT_EQ(graph->num_nodes(), 1200u);
  EXPECT_EQ(graph->num_edges(), served.local().book.num_edges());
  std::set<std::string> names;
  for (const auto& column : graph->node_columns()) names.insert(column.name);
  EXPECT_TRUE(names.contains("node-feat"));
  EXPECT_TRUE(names.contains(sampler::kOriginalIdColumn));
}

TEST(DistGraphTest, HasPartitionKeyAndIncarnation) {
  ServedGraphOptions options;
  options.incarnation = 5;
  ServedGraph served(testing::SmallGraph(), 2, options);
  const SessionOptions opened = OpenGraph(served)->context().session;
  EXPECT_EQ(opened.partition_key, testing::kPartitionKey);
  EXPECT_EQ(opened.incarnation.value_or(0), 5u);
}

TEST(DistGraphTest, HasEdgeColumns) {
  ServedGraphOptions options;
  options.build.source_columns = {"node-feat"};
  for (const uint32_t num_partitions : {1u, 2u}) {
    ServedGraph served(testing::SmallGraph(), num_partitions, options);
    const auto graph = OpenGraph(served);
    const std::vector<sampler::EdgeColumnDescription> expected = {
        {EdgeTypeId(0), "rating", DType::kI64, {}},
        {EdgeTypeId(0), "source.node-feat", DType::kF32, {4}},
        {EdgeTypeId(0), "weight", DType::kF32, {}},
    };
    EXPECT_EQ(graph->edge_columns(), expected);
    for (const sampler::EdgeColumnDescription& column : graph->edge_columns()) {
      const auto rows = graph->GatherEdgeRows(column.edge_type, column.name, std::vector{GlobalEdgeId(77)});
      ASSERT_TRUE(rows.ok()) << rows.status().ToString();
      EXPECT_EQ(rows->dtype(), column.dtype);
      EXPECT_EQ(rows->shape().size(), 1 + column.row_shape.size());
    }
  }
  ServedGraph typed(testing::SmallTypedGraph(), 2);
  const auto graph = OpenGraph(typed);
  const EdgeTypeId last(static_cast<uint16_t>(graph->schema().num_edge_types() - 1));
  const auto& columns = graph->edge_columns();
  EXPECT_EQ(std::count(columns.begin(), columns.end(), sampler::EdgeColumnDescription{last, "rating", DType::kI64, {}}),
            1);
}

TEST(ServerDescriptionTest, RefusesColumnsOfNoTypeOrDType) {
  ServedGraph served(testing::SmallGraph(), 1);
  graph::v1::DescribeResponse response;
  server::DescribeGraph(served.local_graph().description(), &response);
  const auto description = ParseDescription(response);
  ASSERT_TRUE(description.ok()) << description.status().ToString();
  EXPECT_EQ(description->graph.edge_columns, served.local_graph().description().edge_columns);

  const auto error = [](const graph::v1::DescribeResponse& bad) { return ParseDescription(bad).status().message(); };
  graph::v1::DescribeResponse bad = response;
  bad.mutable_edge_columns(0)->set_edge_type(1);
  EXPECT_THAT(error(bad), HasSubstr("column 'rating' has an unknown type or dtype"));
  bad = response;
  bad.mutable_edge_columns(0)->set_dtype(200);
  EXPECT_THAT(error(bad), HasSubstr("column 'rating' has an unknown type or dtype"));
  bad = response;
  bad.mutable_columns(0)->set_node_type(1);
  EXPECT_THAT(error(bad), HasSubstr("has an unknown type or dtype"));
  bad = response;
  for (int i = 0; i < 2; ++i) bad.mutable_edge_columns(0)->add_row_shape(int64_t{1} << 40);
  EXPECT_EQ(ParseDescription(bad).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(error(bad), HasSubstr("column 'rating': "));
}

TEST(DistGraphTest, SeveralGraphsCoexist) {
  ServedGraph served(testing::SmallGraph(), 2);
  auto first = OpenGraph(served);
  auto second = OpenGraph(served);
  first.reset();
  EXPECT_TRUE(second->GatherNodeRows(NodeTypeId(0), "node-feat", std::vector{GlobalNodeId(3)}).ok());
  first = OpenGraph(served);
  second.reset();
  EXPECT_TRUE(first->GatherNodeRows(NodeTypeId(0), "node-feat", std::vector{GlobalNodeId(3)}).ok());
}

TEST(DistGraphTest, SampledEdgesAreEdgesOfGraph) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  const EdgeTypeId edge(0);
  const std::vector<GlobalNodeId> seeds = {GlobalNodeId(900), GlobalNodeId(3), GlobalNodeId(1499)};

  const auto frontier = graph->SampleNeighbors({{NodeTypeId(0), seeds}}, {{edge, 4}}, {.want_edge_ids = true});

  ASSERT_TRUE(frontier.ok()) << frontier.status().ToString();
  ASSERT_EQ(frontier->relations.size(), 1u);
  const FrontierRelation& drawn = frontier->relations[0];
  const auto ends = graph->FindEdges(edge, drawn.edge_ids);
  ASSERT_TRUE(ends.ok()) << ends.status().ToString();
  const auto count = static_cast<int64_t>(drawn.sources.size());
  for (size_t i = 0; i < seeds.size(); ++i) {
    EXPECT_LE(drawn.offsets[i + 1] - drawn.offsets[i], 4u);
    for (auto e = static_cast<int64_t>(drawn.offsets[i]); e < static_cast<int64_t>(drawn.offsets[i + 1]); ++e) {
      EXPECT_EQ(static_cast<uint64_t>(ends->ValueAsInt(e)), drawn.sources[static_cast<size_t>(e)].value);
      EXPECT_EQ(static_cast<uint64_t>(ends->ValueAsInt(count + e)), seeds[i].value);
    }
  }
}

// The column of SmallGraph is a function of the endpoints of an edge.
TEST(DistGraphTest, EdgeRowsMatchInput) {
  for (const uint32_t num_partitions : {1u, 3u}) {
    ServedGraph served(testing::SmallGraph(), num_partitions);
    const auto graph = OpenGraph(served);
    std::vector<GlobalEdgeId> edges;
    for (uint64_t id = graph->num_edges(EdgeTypeId(0)); id > 100; id -= 97) edges.emplace_back(id - 1);
    const auto rows = graph->GatherEdgeRows(EdgeTypeId(0), "rating", edges);
    const auto ends = graph->FindEdges(EdgeTypeId(0), edges);
    ASSERT_TRUE(rows.ok() && ends.ok()) << rows.status().ToString();
    std::vector<GlobalNodeId> nodes;
    for (const int64_t end : ends->values<int64_t>()) nodes.emplace_back(static_cast<uint64_t>(end));
    const auto originals = shard::testing::OriginalIds(served.local_graph(), NodeTypeId(0), nodes);
    ASSERT_EQ(rows->shape(), std::vector<int64_t>{static_cast<int64_t>(edges.size())});
    for (size_t i = 0; i < edges.size(); ++i) {
      const uint64_t rating = (originals[i] + 3 * originals[edges.size() + i]) % 5;
      EXPECT_EQ(rows->ValueAsInt(static_cast<int64_t>(i)), static_cast<int64_t>(rating));
    }
    EXPECT_EQ(graph->GatherEdgeRows(EdgeTypeId(0), "rating", {})->ToString(), "I64 [0]");
    const Status unknown = graph->GatherEdgeRows(EdgeTypeId(0), "stars", edges).status();
    EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
    EXPECT_THAT(unknown.message(), HasSubstr("has no column 'stars'; it has 'rating'"));
    edges.emplace_back(graph->num_edges(EdgeTypeId(0)));
    EXPECT_EQ(graph->GatherEdgeRows(EdgeTypeId(0), "rating", edges).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(graph->GatherEdgeRows(EdgeTypeId(9), "rating", {}).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(DistGraphTest, InSubgraphHasAllInEdges) {
  ServedGraph served(testing::SmallTypedGraph(), 2);
  const auto graph = OpenGraph(served);
  const auto paper = graph->schema().FindNodeType("paper");
  ASSERT_TRUE(paper.ok());
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(5), GlobalNodeId(700)};

  const auto subgraph = graph->InSubgraph({{*paper, nodes}});

  ASSERT_TRUE(subgraph.ok()) << subgraph.status().ToString();
  EXPECT_EQ(subgraph->relations.size(), graph->schema().EdgeTypesInto(*paper).size());
  for (const FrontierRelation& relation : subgraph->relations) {
    const auto degrees = graph->InDegrees(relation.edge_type, nodes);
    ASSERT_TRUE(degrees.ok());
    for (size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(relation.offsets[i + 1] - relation.offsets[i],
                static_cast<uint64_t>(degrees->ValueAsInt(static_cast<int64_t>(i))));
    }
  }
}

TEST(DistGraphTest, BlocksHaveDestinationsFirst) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  const NodesByType seeds = {{NodeTypeId(0), {GlobalNodeId(900), GlobalNodeId(3)}}};
  const auto frontier = graph->SampleNeighbors(seeds, {{EdgeTypeId(0), 5}}, {});
  ASSERT_TRUE(frontier.ok());

  const auto block = graph->ToBlock(*frontier, seeds);

  ASSERT_TRUE(block.ok()) << block.status().ToString();
  const auto& nodes = block->nodes[0];
  EXPECT_THAT(block->layer.num_outputs, ::testing::ElementsAre(2u));
  EXPECT_THAT(block->layer.num_inputs, ::testing::ElementsAre(nodes.size()));
  EXPECT_EQ(nodes[0], GlobalNodeId(900));
  EXPECT_EQ(nodes[1], GlobalNodeId(3));
  EXPECT_EQ(std::set<GlobalNodeId>(nodes.begin(), nodes.end()).size(), nodes.size());
  const auto& sources = frontier->relations[0].sources;
  for (size_t e = 0; e < sources.size(); ++e) EXPECT_EQ(nodes[block->layer.blocks[0].indices[e]], sources[e]);

  EXPECT_EQ(graph->ToBlock(*frontier, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(DistGraphTest, RefusesUnknownNames) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto graph = OpenGraph(served);
  const auto code_of = [&](const NodesByType& seeds, const Fanouts& fanouts) {
    return graph->SampleNeighbors(seeds, fanouts, {}).status().code();
  };
  EXPECT_EQ(code_of({{NodeTypeId(9), {}}}, {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({{NodeTypeId(0), {GlobalNodeId(1500)}}}, {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({}, {{EdgeTypeId(9), 1}}), StatusCode::kInvalidArgument);
}

TEST(DistGraphTest, MapsOriginalIds) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  const auto globals = graph->ToGlobalIds(NodeTypeId(0), std::vector{OriginalNodeId(7), OriginalNodeId(1200)});
  ASSERT_TRUE(globals.ok()) << globals.status().ToString();
  const auto back = graph->GatherNodeRows(NodeTypeId(0), sampler::kOriginalIdColumn, *globals);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->ValueAsInt(0), 7);
  EXPECT_EQ(back->ValueAsInt(1), 1200);
}

class NodeDataLoaderTest : public ::testing::Test {
 protected:
  NodeDataLoaderTest() : served_(testing::SmallGraph(), 2), graph_(OpenGraph(served_)) {
    const auto& split = served_.local_graph().description().splits.front();
    split_ = split.split;
    auto nodes = graph_->SplitNodes(split.node_type, split.split, graph::SplitPartName::kTrain);
    ESPALIER_CHECK(nodes.ok()) << nodes.status().ToString();
    nodes_ = *std::move(nodes);
    options_.batch_size = 40;
    options_.sampling.seed = 5;
    options_.sampling.layers = {{{4}}, {{2}}};
  }

  using SeedsOfBatch = std::vector<GlobalNodeId>;
  static Result<SeedsOfBatch> TakeSeeds(sampler::MiniBatch batch, const Deadline&) {
    return SeedsOfBatch(batch.nodes[0].begin(), batch.nodes[0].begin() + batch.num_seeds);
  }
  std::vector<SeedsOfBatch> Epoch(const DistGraph& graph, const NodeLoaderOptions& options, uint32_t epoch) {
    auto loader = NodeDataLoader<SeedsOfBatch>::Make(graph, nodes_, options, TakeSeeds);
    ESPALIER_CHECK(loader.ok()) << loader.status().ToString();
    EXPECT_TRUE((*loader)->StartEpoch(epoch).ok());
    std::vector<SeedsOfBatch> all;
    for (;;) {
      auto batch = (*loader)->Next();
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      if (!batch.ok() || !batch->has_value()) return all;
      all.push_back(**std::move(batch));
    }
  }

  ServedGraph served_;
  std::unique_ptr<DistGraph> graph_;
  std::string split_;
  std::vector<GlobalNodeId> nodes_;
  NodeLoaderOptions options_;
};

TEST_F(NodeDataLoaderTest, VisitsEachNodeOncePerEpoch) {
  ASSERT_EQ(nodes_.size(), 150u);
  const auto batches = Epoch(*graph_, options_, 0);
  ASSERT_EQ(batches.size(), 4u);
  std::multiset<GlobalNodeId> seen;
  for (const auto& batch : batches) seen.insert(batch.begin(), batch.end());
  EXPECT_EQ(seen, std::multiset<GlobalNodeId>(nodes_.begin(), nodes_.end()));
  EXPECT_EQ(Epoch(*graph_, options_, 0), batches);
  EXPECT_NE(Epoch(*graph_, options_, 1), batches);
}

TEST_F(NodeDataLoaderTest, ReturnsBatchesOfSplit) {
  sampler::SeedQuery query{.node_type = NodeTypeId(0), .split = split_, .seed = 5, .epoch = 3, .batch_size = 40};
  const auto batches = Epoch(*graph_, options_, 3);
  for (query.step = 0; query.step < 4; ++query.step) {
    const auto expected = served_.local_graph().SeedsOfStep(query, graph_->CallDeadline());
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(batches[query.step], expected->seeds);
  }
}

TEST_F(NodeDataLoaderTest, MayDropTheLastBatchAndKeepTheOrder) {
  options_.last_batch = LastBatch::kDrop;
  options_.shuffle = false;
  const auto batches = Epoch(*graph_, options_, 0);
  ASSERT_EQ(batches.size(), 3u);
  for (size_t i = 0; i < 120; ++i) EXPECT_EQ(batches[i / 40][i % 40], nodes_[i]);
}

TEST_F(NodeDataLoaderTest, StopsAtAnErrorOfCollate) {
  int calls = 0;
  auto loader =
      NodeDataLoader<int>::Make(*graph_, nodes_, options_, [&](sampler::MiniBatch, const Deadline&) -> Result<int> {
        if (++calls == 2) return Internal("no");
        return calls;
      });
  ASSERT_TRUE(loader.ok());
  EXPECT_EQ((*loader)->Next().status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE((*loader)->StartEpoch(0).ok());
  EXPECT_EQ(**(*loader)->Next(), 1);
  EXPECT_EQ((*loader)->Next().status().code(), StatusCode::kInternal);
  EXPECT_FALSE((*loader)->Next()->has_value());
}

TEST_F(NodeDataLoaderTest, CollatesAhead) {
  CallCount collated;
  options_.batches_ahead = 2;
  auto loader =
      NodeDataLoader<int>::Make(*graph_, nodes_, options_, [&](sampler::MiniBatch, const Deadline&) -> Result<int> {
        collated.Increment();
        return 1;
      });
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->StartEpoch(0).ok());
  EXPECT_TRUE(collated.Reaches(3)) << "two are ready, and the next one waits for its place";
  EXPECT_EQ(collated.value(), 3);
  ASSERT_TRUE((*loader)->Next().ok());
  EXPECT_TRUE(collated.Reaches(4));
}

TEST_F(NodeDataLoaderTest, CanRestartDuringEpoch) {
  auto loader = NodeDataLoader<SeedsOfBatch>::Make(*graph_, nodes_, options_, TakeSeeds);
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->StartEpoch(0).ok());
  ASSERT_TRUE((*loader)->Next().ok());
  ASSERT_TRUE((*loader)->StartEpoch(1, 2).ok());
  EXPECT_EQ(**(*loader)->Next(), Epoch(*graph_, options_, 1)[2]);
}

TEST_F(NodeDataLoaderTest, RefusesNodesThatDoNotExist) {
  const auto code_of = [&](std::vector<GlobalNodeId> nodes, const NodeLoaderOptions& options) {
    return NodeDataLoader<SeedsOfBatch>::Make(*graph_, std::move(nodes), options, TakeSeeds).status().code();
  };
  EXPECT_EQ(code_of({GlobalNodeId(1500)}, options_), StatusCode::kInvalidArgument);
  options_.batch_size = 0;
  EXPECT_EQ(code_of({}, options_), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::client
