// DistGraph forwards each query to sampler::PartitionedGraph, with the context's deadline unless the caller gives one.
// PartitionedGraph splits the query by owner and merges the responses in the order of the request. SampleNeighbors
// checks types and ids and translates its options to one HopQuery with an entry per edge type; ToBlock numbers the
// nodes of the result without further requests.
#include "services/client/graph/dist_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "services/client/graph/split_reader.h"
#include "services/client/session/session.h"
#include "services/sampler/batches/node_numbering.h"

namespace espalier::client {
namespace {

const std::vector<GlobalNodeId>& SelectNodes(const NodesByType& nodes, NodeTypeId type) {
  static const std::vector<GlobalNodeId> none;
  const auto entry = nodes.find(type);
  return entry == nodes.end() ? none : entry->second;
}

Status CheckNodes(const NodesByType& nodes, const graph::PartitionBook& book) {
  for (const auto& [type, ids] : nodes) {
    RETURN_IF_ERROR(book.schema().CheckNodeType(type));
    for (const GlobalNodeId id : ids) {
      if (id.value >= book.num_nodes(type)) {
        return InvalidArgument("node " + std::to_string(id.value) + " of type '" + book.schema().NodeTypeName(type) +
                               "' is out of range [0, " + std::to_string(book.num_nodes(type)) + ")");
      }
    }
  }
  return Status();
}

// Sorts the excluded edges of each type: RelationQuery requires sorted edges.
std::map<EdgeTypeId, std::vector<sampler::EdgeEnds>> SortExcluded(
    std::map<EdgeTypeId, std::vector<sampler::EdgeEnds>> excluded) {
  for (auto& [type, edges] : excluded) std::sort(edges.begin(), edges.end());
  return excluded;
}

Tensor ToTensor(std::string_view text) { return Tensor::FromVector(std::vector<uint8_t>(text.begin(), text.end())); }

std::string ToText(const Tensor& bytes) {  // U8
  const auto values = bytes.values<uint8_t>();
  return {values.begin(), values.end()};
}

// Assigns row numbers to the nodes of a block: destinations first, then sources by first occurrence.
class BlockRows {
 public:
  explicit BlockRows(const graph::PartitionBook& book) : nodes_(book.schema().num_node_types()) {
    for (size_t type = 0; type < nodes_.size(); ++type) {
      // A limit of 0 selects a hash table: a direct table of all nodes of a type is too expensive for one block.
      numbering_.emplace_back(book.num_nodes(NodeTypeId(static_cast<uint16_t>(type))), /*direct_limit=*/0);
      numbering_.back().StartBatch();
    }
  }

  std::vector<uint32_t> Number(NodeTypeId type, const std::vector<GlobalNodeId>& ids) {
    std::vector<uint32_t> rows(ids.size());
    numbering_[type.value].Number(ids, nodes_[type.value], rows.data());
    return rows;
  }
  std::vector<uint32_t> Counts() const {
    std::vector<uint32_t> counts;
    for (const auto& nodes : nodes_) counts.push_back(static_cast<uint32_t>(nodes.size()));
    return counts;
  }
  std::vector<std::vector<GlobalNodeId>> TakeNodes() { return std::move(nodes_); }

 private:
  std::vector<sampler::NodeNumbering> numbering_;
  std::vector<std::vector<GlobalNodeId>> nodes_;
};

}  // namespace

Result<std::unique_ptr<DistGraph>> DistGraph::Open(const Context& context) {
  ASSIGN_OR_RETURN(Session session, Connect(context.session));
  Context opened = context;
  opened.session.partition_key = session.partition_key;
  if (session.incarnation != nullptr) opened.session.incarnation = session.incarnation->current();
  return std::make_unique<DistGraph>(session.graph_name, std::move(session.graph), opened);
}

DistGraph::DistGraph(std::string name, std::shared_ptr<sampler::PartitionedGraph> partitions, const Context& context)
    : name_(std::move(name)), graph_(std::move(partitions)), context_(context) {}

Result<Tensor> DistGraph::GatherNodeRows(NodeTypeId type, const std::string& column,
                                         std::span<const GlobalNodeId> nodes, std::optional<Deadline> deadline) const {
  return sampler::GatherValues(*graph_, type, column, nodes, deadline.value_or(CallDeadline()));
}

Status DistGraph::GatherNodeRowsInto(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                     std::span<std::byte> out, std::optional<Deadline> deadline) const {
  const Deadline query_deadline = deadline.value_or(CallDeadline());
  if (sampler::FindScales(*graph_, type, column).empty()) {
    return graph_->GatherRowsInto(type, column, nodes, out, query_deadline);
  }
  ASSIGN_OR_RETURN(const Tensor values, sampler::GatherValues(*graph_, type, column, nodes, query_deadline));
  if (out.size() != values.size_bytes()) {
    return InvalidArgument("memory of " + std::to_string(out.size()) + " bytes for rows of '" + column +
                           "', expected " + std::to_string(values.size_bytes()) + " bytes (F32)");
  }
  if (!out.empty()) std::memcpy(out.data(), values.bytes(), out.size());  // `out` may not be aligned for float
  return Status();
}

Result<Tensor> DistGraph::GatherEdgeRows(EdgeTypeId type, const std::string& column,
                                         std::span<const GlobalEdgeId> edges, std::optional<Deadline> deadline) const {
  return graph_->GatherEdgeRows(type, column, edges, deadline.value_or(CallDeadline()));
}

Result<std::vector<GlobalNodeId>> DistGraph::ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                         std::optional<Deadline> deadline) const {
  return graph_->ToGlobalIds(type, nodes, deadline.value_or(CallDeadline()));
}

Result<std::vector<GlobalNodeId>> DistGraph::SplitNodes(NodeTypeId type, const std::string& split,
                                                        graph::SplitPartName part,
                                                        std::optional<Deadline> deadline) const {
  constexpr uint64_t kNodesPerRequest = uint64_t{1} << 20;
  SplitReader reader(*this, type, split, part, kNodesPerRequest);
  reader.set_deadline(std::move(deadline));
  ASSIGN_OR_RETURN(const uint64_t total, reader.Count());
  std::vector<GlobalNodeId> nodes;
  nodes.reserve(total);
  RETURN_IF_ERROR(reader.Read({0, total}, [&nodes](const SplitItem& item) { nodes.push_back(item.node); }));
  return nodes;
}

Result<Frontier> DistGraph::SampleNeighbors(const NodesByType& seeds, const Fanouts& fanouts,
                                            const DrawOptions& options, std::optional<Deadline> deadline) const {
  RETURN_IF_ERROR(CheckNodes(seeds, book()));
  sampler::HopQuery query;
  query.seed = options.seed;
  query.at = options.at;
  query.draw = options.draw;
  query.want_edge_ids = options.want_edge_ids;
  const auto excluded = SortExcluded(options.excluded);
  for (const auto& [type, edges] : excluded) RETURN_IF_ERROR(schema().CheckEdgeType(type));
  for (const auto& [type, fanout] : fanouts) {
    RETURN_IF_ERROR(schema().CheckEdgeType(type));
    const NodeTypeId destination = schema().DestinationOf(type);
    sampler::RelationQuery relation{
        .edge_type = type, .fanout = fanout, .destinations = SelectNodes(seeds, destination)};
    const auto times = options.times.find(destination);
    if (times != options.times.end()) relation.times = times->second;
    const auto edges = excluded.find(type);
    if (edges != excluded.end()) relation.excluded = edges->second;
    query.relations.push_back(relation);
  }
  ASSIGN_OR_RETURN(sampler::HopSample sample, graph_->SampleInEdges(query, deadline.value_or(CallDeadline())));
  Frontier frontier;
  for (size_t r = 0; r < query.relations.size(); ++r) {
    sampler::RelationSample& drawn = sample.relations[r];
    const auto& destinations = query.relations[r].destinations;
    frontier.relations.push_back({query.relations[r].edge_type,
                                  {destinations.begin(), destinations.end()},
                                  std::move(drawn.offsets),
                                  std::move(drawn.sources),
                                  std::move(drawn.edge_ids)});
  }
  return frontier;
}

Result<Frontier> DistGraph::InSubgraph(const NodesByType& nodes, std::optional<Deadline> deadline) const {
  Fanouts all;
  for (uint16_t type = 0; type < schema().num_edge_types(); ++type) {
    if (nodes.contains(schema().DestinationOf(EdgeTypeId(type)))) all[EdgeTypeId(type)] = sampler::kFullNeighborhood;
  }
  DrawOptions options;
  options.want_edge_ids = true;
  return SampleNeighbors(nodes, all, options, deadline);
}

Result<BlockWithNodes> DistGraph::ToBlock(const Frontier& frontier, const NodesByType& destinations) const {
  RETURN_IF_ERROR(CheckNodes(destinations, book()));
  BlockRows rows(book());
  for (const auto& [type, nodes] : destinations) {
    rows.Number(type, nodes);
    if (rows.Counts()[type.value] != nodes.size())
      return InvalidArgument("ToBlock: destinations are not distinct, expected each node once");
  }
  BlockWithNodes result;
  result.layer.num_outputs = rows.Counts();
  for (const FrontierRelation& relation : frontier.relations) {
    if (relation.edge_type.value >= schema().num_edge_types() ||
        relation.destinations != SelectNodes(destinations, schema().DestinationOf(relation.edge_type))) {
      return InvalidArgument("ToBlock: the destinations differ from those of the frontier");
    }
    sampler::Block block;
    block.edge_type = relation.edge_type;
    block.indptr.assign(relation.offsets.begin(), relation.offsets.end());
    block.indices = rows.Number(schema().SourceOf(relation.edge_type), relation.sources);
    block.edge_ids = relation.edge_ids;
    result.layer.blocks.push_back(std::move(block));
  }
  result.layer.num_inputs = rows.Counts();
  result.nodes = rows.TakeNodes();
  return result;
}

Result<Tensor> DistGraph::InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes,
                                    std::optional<Deadline> deadline) const {
  return graph_->InDegrees(type, nodes, deadline.value_or(CallDeadline()));
}

Result<Tensor> DistGraph::FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges,
                                    std::optional<Deadline> deadline) const {
  return graph_->FindEdges(type, edges, deadline.value_or(CallDeadline()));
}

Result<std::string> DistGraph::CallFunction(PartitionId partition, const std::string& function,
                                            std::string_view request, TensorEffect effect,
                                            std::optional<Deadline> deadline) const {
  ASSIGN_OR_RETURN(const std::vector<Tensor> response, graph_->CallFunction({partition}, function, ToTensor(request),
                                                                            effect, deadline.value_or(CallDeadline())));
  return ToText(response.front());
}

Result<std::vector<std::string>> DistGraph::CallFunctionEverywhere(const std::string& function,
                                                                   std::string_view request, TensorEffect effect,
                                                                   std::optional<Deadline> deadline) const {
  std::vector<PartitionId> partitions;
  for (uint32_t p = 0; p < book().num_partitions(); ++p) partitions.emplace_back(p);
  ASSIGN_OR_RETURN(
      const std::vector<Tensor> responses,
      graph_->CallFunction(partitions, function, ToTensor(request), effect, deadline.value_or(CallDeadline())));
  std::vector<std::string> texts;
  for (const Tensor& response : responses) texts.push_back(ToText(response));
  return texts;
}

}  // namespace espalier::client
