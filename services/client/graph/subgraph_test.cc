// Subgraphs of heterographs on any number of servers, compared with the edge lists of the graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "services/base/philox.h"
#include "services/client/graph/dist_graph.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;
using testing::ServedGraph;

// An edge by original ids.
using OriginalEdge = std::tuple<uint64_t, uint64_t>;  // source, destination

class SubgraphTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  SubgraphTest() : source_(testing::SmallTypedGraph()), served_(source_, GetParam()) {
    std::string servers;
    for (const std::string& address : served_.addresses()) servers += (servers.empty() ? "" : ",") + address;
    const auto context = Initialize({{"ESPALIER_SERVERS", servers}, {"ESPALIER_ACCESS", "rpc"}});
    ESPALIER_CHECK(context.ok()) << context.status().ToString();
    auto graph = DistGraph::Open(*context);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    graph_ = *std::move(graph);
  }

  std::vector<uint64_t> OriginalIds(NodeTypeId type, const std::vector<GlobalNodeId>& nodes) const {
    return shard::testing::OriginalIds(graph_->partitions(), type, nodes);
  }
  OriginalEdge EdgeAt(EdgeTypeId type, uint64_t original_id) const {
    const graph::EdgeSet& edges = source_.edges_of(type);
    const auto row = static_cast<int64_t>(original_id);
    return {static_cast<uint64_t>(edges.sources.ValueAsInt(row)),
            static_cast<uint64_t>(edges.destinations.ValueAsInt(row))};
  }
  // Original id of a global edge id.
  uint64_t OriginalEdgeId(EdgeTypeId type, GlobalEdgeId edge) const {
    const PartitionId owner = graph_->book().OwnerOf(type, edge);
    const Tensor& ids = served_.local().shards[owner.value]->data().original_edge_ids[type.value];
    return static_cast<uint64_t>(
        ids.ValueAsInt(static_cast<int64_t>(edge.value - graph_->book().EdgeFirst(type)[owner.value])));
  }

  const graph::SourceGraph source_;
  const ServedGraph served_;
  std::unique_ptr<DistGraph> graph_;
};

TEST_P(SubgraphTest, InSubgraphHasExactlyTheInEdgesOfAllRelations) {
  NodesByType nodes;
  std::map<NodeTypeId, std::vector<uint64_t>> originals;
  for (uint16_t type = 0; type < graph_->schema().num_node_types(); ++type) {
    for (uint64_t v = type; v < source_.nodes[type].count; v += 37) originals[NodeTypeId(type)].push_back(v);
    std::vector<OriginalNodeId> ids;
    for (const uint64_t id : originals[NodeTypeId(type)]) ids.emplace_back(id);
    const auto found = graph_->ToGlobalIds(NodeTypeId(type), ids);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    nodes[NodeTypeId(type)] = *found;
  }

  const auto subgraph = graph_->InSubgraph(nodes);

  ASSERT_TRUE(subgraph.ok()) << subgraph.status().ToString();
  ASSERT_EQ(subgraph->relations.size(), graph_->schema().num_edge_types());
  for (const FrontierRelation& relation : subgraph->relations) {
    const NodeTypeId source_type = graph_->schema().SourceOf(relation.edge_type);
    const NodeTypeId destination_type = graph_->schema().DestinationOf(relation.edge_type);
    std::multiset<OriginalEdge> expected, seen;
    const std::set<uint64_t> wanted(originals[destination_type].begin(), originals[destination_type].end());
    for (uint64_t row = 0; row < source_.edges_of(relation.edge_type).num_edges(); ++row) {
      const OriginalEdge edge = EdgeAt(relation.edge_type, row);
      if (wanted.contains(std::get<1>(edge))) expected.insert(edge);
    }
    const std::vector<uint64_t> sources = OriginalIds(source_type, relation.sources);
    const std::vector<uint64_t> destinations = OriginalIds(destination_type, relation.destinations);
    for (size_t i = 0; i < destinations.size(); ++i) {
      for (uint64_t k = relation.offsets[i]; k < relation.offsets[i + 1]; ++k) {
        seen.emplace(sources[k], destinations[i]);
        EXPECT_EQ(EdgeAt(relation.edge_type, OriginalEdgeId(relation.edge_type, relation.edge_ids[k])),
                  OriginalEdge(sources[k], destinations[i]));
      }
    }
    EXPECT_FALSE(seen.empty());
    EXPECT_EQ(seen, expected);
  }
}

TEST_P(SubgraphTest, EdgeSubgraphHasRequestedEdgesAndEndpoints) {
  PhiloxStream random(6, 0);
  EdgesByType edges;
  for (uint16_t type = 0; type < graph_->schema().num_edge_types(); ++type) {
    std::vector<GlobalEdgeId>& of_type = edges[EdgeTypeId(type)];
    const auto count = static_cast<uint32_t>(graph_->num_edges(EdgeTypeId(type)));
    for (int i = 0; i < 200; ++i) of_type.emplace_back(random.NextBelow(count));
    of_type.push_back(of_type.front());  // a repeated edge
  }

  const auto subgraph = graph_->EdgeSubgraph(edges);

  ASSERT_TRUE(subgraph.ok()) << subgraph.status().ToString();
  ASSERT_EQ(subgraph->relations.size(), edges.size());
  std::vector<std::vector<uint64_t>> originals;
  std::vector<std::set<uint32_t>> used(subgraph->nodes.size());
  for (uint16_t type = 0; type < subgraph->nodes.size(); ++type) {
    originals.push_back(OriginalIds(NodeTypeId(type), subgraph->nodes[type]));
    EXPECT_EQ(std::set<uint64_t>(originals[type].begin(), originals[type].end()).size(), originals[type].size());
  }
  for (const SubgraphRelation& relation : subgraph->relations) {
    const uint16_t source_type = graph_->schema().SourceOf(relation.edge_type).value;
    const uint16_t destination_type = graph_->schema().DestinationOf(relation.edge_type).value;
    EXPECT_EQ(relation.edge_ids, edges[relation.edge_type]);
    ASSERT_EQ(relation.sources.size(), relation.edge_ids.size());
    ASSERT_EQ(relation.destinations.size(), relation.edge_ids.size());
    for (size_t i = 0; i < relation.edge_ids.size(); ++i) {
      EXPECT_EQ(EdgeAt(relation.edge_type, OriginalEdgeId(relation.edge_type, relation.edge_ids[i])),
                OriginalEdge(originals[source_type][relation.sources[i]],
                             originals[destination_type][relation.destinations[i]]));
      used[source_type].insert(relation.sources[i]);
      used[destination_type].insert(relation.destinations[i]);
    }
  }
  for (size_t type = 0; type < used.size(); ++type) EXPECT_EQ(used[type].size(), originals[type].size());
}

TEST_P(SubgraphTest, EmptyEdgeSubgraph) {
  const auto subgraph = graph_->EdgeSubgraph({{EdgeTypeId(1), {}}});
  ASSERT_TRUE(subgraph.ok()) << subgraph.status().ToString();
  EXPECT_EQ(subgraph->nodes.size(), graph_->schema().num_node_types());
  for (const auto& nodes : subgraph->nodes) EXPECT_TRUE(nodes.empty());
  ASSERT_EQ(subgraph->relations.size(), 1u);
  EXPECT_TRUE(subgraph->relations[0].edge_ids.empty());
}

TEST_P(SubgraphTest, EdgeSubgraphNamesUnknownTypes) {
  const GlobalEdgeId none(graph_->num_edges(EdgeTypeId(0)));
  EXPECT_THAT(graph_->EdgeSubgraph({{EdgeTypeId(0), {none}}}).status().message(), HasSubstr("does not exist"));
  EXPECT_EQ(graph_->EdgeSubgraph({{EdgeTypeId(99), {}}}).status().code(), StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Servers, SubgraphTest, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace espalier::client
