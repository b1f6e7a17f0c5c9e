// Original node ids are consecutive, so nodes are enumerated by converting ranges of original ids to global ids. Edges
// are enumerated by destination, and destinations by original id. Each partition numbers its edges in this order too,
// so a counter per partition gives the id of its next edge (next_edges_). The in-degree of a destination gives the
// number of its edges; AddEdges checks the destinations with FindEdges.
#include "services/client/tensors/row_order.h"

#include <algorithm>
#include <span>

#include "services/base/hash.h"

namespace espalier::client {
namespace {

constexpr uint64_t kNodesPerQuery = uint64_t{1} << 18;
// Number of destinations whose in-degrees are read with one query.
constexpr uint64_t kDestinationsPerQuery = uint64_t{1} << 14;

}  // namespace

RowOrder::RowOrder(const DistGraph& graph, const sampler::RowSpace& rows, uint64_t edges_per_request)
    : graph_(graph), rows_(rows), edges_per_request_(edges_per_request) {
  if (rows.of != sampler::RowsOf::kEdges) return;
  const std::span<const uint64_t> firsts = graph.book().EdgeFirst(EdgeTypeId(rows.type));
  next_edges_.assign(firsts.begin(), firsts.end() - 1);
}

Result<std::vector<GlobalNodeId>> RowOrder::NextNodes(NodeTypeId type, uint64_t count) {
  const uint64_t end = std::min(graph_.num_nodes(type), next_original_ + count);
  std::vector<GlobalNodeId> nodes;
  nodes.reserve(end - next_original_);
  while (next_original_ < end) {
    std::vector<OriginalNodeId> originals;
    const uint64_t last = std::min(end, next_original_ + kNodesPerQuery);
    for (uint64_t id = next_original_; id < last; ++id) originals.emplace_back(id);
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> found, graph_.ToGlobalIds(type, originals));
    nodes.insert(nodes.end(), found.begin(), found.end());
    next_original_ = last;
  }
  return nodes;
}

Status RowOrder::AddEdges(const std::vector<GlobalEdgeId>& edges, const std::vector<GlobalNodeId>& destinations,
                          const std::vector<uint64_t>& original_destinations) {
  const EdgeTypeId type(rows_.type);
  ASSIGN_OR_RETURN(const Tensor found, graph_.FindEdges(type, edges));
  const std::span<const int64_t> ends = found.values<int64_t>();  // sources, then destinations
  std::vector<GlobalNodeId> sources;
  sources.reserve(edges.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    if (static_cast<uint64_t>(ends[edges.size() + i]) != destinations[i].value) {
      return Internal("edge " + std::to_string(edges[i].value) + " ends at node " +
                      std::to_string(ends[edges.size() + i]) + ", expected node " +
                      std::to_string(destinations[i].value) + " according to the in-degrees");
    }
    sources.emplace_back(static_cast<uint64_t>(ends[i]));
  }
  ASSIGN_OR_RETURN(const Tensor originals,
                   graph_.GatherNodeRows(graph_.schema().SourceOf(type), sampler::kOriginalIdColumn, sources));
  for (size_t i = 0; i < edges.size(); ++i) {
    edges_.emplace_back(edges[i].value);
    endpoint_hash_ =
        HashCombine(HashCombine(endpoint_hash_, original_destinations[i]), originals.values<uint64_t>()[i]);
  }
  return Status();
}

// Reads at most edges_per_request_ edges. It may stop between any two edges of a destination (edges_read_of_next_).
Status RowOrder::ReadEdges() {
  const EdgeTypeId type(rows_.type);
  const NodeTypeId destination_type = graph_.schema().DestinationOf(type);
  if (next_destination_ == destinations_.size()) {
    next_destination_ = 0;
    ASSIGN_OR_RETURN(destinations_, NextNodes(destination_type, kDestinationsPerQuery));
    ASSIGN_OR_RETURN(degrees_, graph_.InDegrees(type, destinations_));
  }
  const uint64_t first_original = next_original_ - destinations_.size();
  std::vector<GlobalEdgeId> edges;
  std::vector<GlobalNodeId> destinations;
  std::vector<uint64_t> original_destinations;
  while (next_destination_ < destinations_.size() && edges.size() < edges_per_request_) {
    const GlobalNodeId destination = destinations_[next_destination_];
    const uint32_t partition = graph_.book().OwnerOf(destination_type, destination).value;
    const uint64_t unread = degrees_.values<uint32_t>()[next_destination_] - edges_read_of_next_;
    const uint64_t count = std::min(unread, edges_per_request_ - edges.size());
    if (count > graph_.book().EdgeFirst(type)[partition + 1] - next_edges_[partition]) {
      return Internal("partition " + std::to_string(partition) +
                      " has fewer edges than the sum of the in-degrees of its nodes");
    }
    for (uint64_t i = 0; i < count; ++i) edges.emplace_back(next_edges_[partition]++);
    destinations.insert(destinations.end(), count, destination);
    original_destinations.insert(original_destinations.end(), count, first_original + next_destination_);
    edges_read_of_next_ += count;
    if (count < unread) break;
    edges_read_of_next_ = 0;
    ++next_destination_;
  }
  return edges.empty() ? Status() : AddEdges(edges, destinations, original_destinations);
}

bool RowOrder::HasReadAllEdges() const {
  const NodeTypeId destination = graph_.schema().DestinationOf(EdgeTypeId(rows_.type));
  return next_original_ == graph_.num_nodes(destination) && next_destination_ == destinations_.size();
}

Result<std::vector<GlobalRowId>> RowOrder::Next(uint64_t count) {
  std::vector<GlobalRowId> rows;
  switch (rows_.of) {
    case sampler::RowsOf::kNodes: {
      ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, NextNodes(NodeTypeId(rows_.type), count));
      rows.reserve(nodes.size());
      for (const GlobalNodeId node : nodes) rows.emplace_back(node.value);
      return rows;
    }
    case sampler::RowsOf::kEdges: break;
    case sampler::RowsOf::kOwn: {
      const uint64_t end = std::min(rows_.num_own_rows, next_original_ + count);
      for (; next_original_ < end; ++next_original_) rows.emplace_back(next_original_);
      return rows;
    }
  }
  while (edges_.size() < count && !HasReadAllEdges()) RETURN_IF_ERROR(ReadEdges());
  const auto end = edges_.begin() + static_cast<std::ptrdiff_t>(std::min<uint64_t>(count, edges_.size()));
  rows.assign(edges_.begin(), end);
  edges_.erase(edges_.begin(), end);
  return rows;
}

}  // namespace espalier::client
