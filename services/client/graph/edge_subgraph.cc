// DistGraph::EdgeSubgraph: queries the endpoints of the edges from their owners and numbers the nodes by first
// occurrence, for each edge type sources before destinations.
#include "services/client/graph/dist_graph.h"
#include "services/sampler/batches/node_numbering.h"

namespace espalier::client {
namespace {

std::vector<GlobalNodeId> ToNodeIds(std::span<const int64_t> ids) {
  std::vector<GlobalNodeId> nodes;
  nodes.reserve(ids.size());
  for (const int64_t id : ids) nodes.emplace_back(static_cast<uint64_t>(id));
  return nodes;
}

}  // namespace

Result<Subgraph> DistGraph::EdgeSubgraph(const EdgesByType& edges, std::optional<Deadline> deadline) const {
  Subgraph subgraph;
  subgraph.nodes.resize(schema().num_node_types());
  std::vector<sampler::NodeNumbering> numbering;
  for (uint16_t type = 0; type < schema().num_node_types(); ++type) {
    // A limit of 0 selects a hash table: a direct table of all nodes of a type is too expensive for one subgraph.
    numbering.emplace_back(num_nodes(NodeTypeId(type)), /*direct_limit=*/0);
    numbering.back().StartBatch();
  }
  const auto number_nodes = [&](NodeTypeId type, std::span<const int64_t> ids) {
    std::vector<uint32_t> rows(ids.size());
    numbering[type.value].Number(ToNodeIds(ids), subgraph.nodes[type.value], rows.data());
    return rows;
  };
  for (const auto& [type, ids] : edges) {
    ASSIGN_OR_RETURN(const Tensor ends, FindEdges(type, ids, deadline));
    const std::span<const int64_t> values = ends.values<int64_t>();
    SubgraphRelation relation{.edge_type = type, .edge_ids = ids};
    relation.sources = number_nodes(schema().SourceOf(type), values.first(ids.size()));
    relation.destinations = number_nodes(schema().DestinationOf(type), values.subspan(ids.size()));
    subgraph.relations.push_back(std::move(relation));
  }
  return subgraph;
}

}  // namespace espalier::client
