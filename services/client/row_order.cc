#include "services/client/row_order.h"

#include <algorithm>
#include <span>

#include "services/base/hash.h"

namespace espalier::client {
namespace {

constexpr uint64_t kNodesPerLookUp = uint64_t{1} << 18;
// Nodes whose in-edges are asked for at once, and about how many edges that may be, unless one node has more.
constexpr uint64_t kNodesOfEdges = uint64_t{1} << 14;
constexpr uint64_t kEdgesPerQuestion = uint64_t{1} << 20;

}  // namespace

RowOrder::RowOrder(const DistGraph& graph, const sampler::RowSpace& rows) : graph_(graph), rows_(rows) {}

Result<std::vector<GlobalNodeId>> RowOrder::NextNodes(NodeTypeId type, uint64_t count) {
  const uint64_t end = std::min(graph_.num_nodes(type), next_original_ + count);
  std::vector<GlobalNodeId> nodes;
  nodes.reserve(end - next_original_);
  while (next_original_ < end) {
    std::vector<OriginalNodeId> originals;
    const uint64_t last = std::min(end, next_original_ + kNodesPerLookUp);
    for (uint64_t id = next_original_; id < last; ++id) originals.emplace_back(id);
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> found, graph_.LookUp(type, originals));
    nodes.insert(nodes.end(), found.begin(), found.end());
    next_original_ = last;
  }
  return nodes;
}

Status RowOrder::ReadEdgesInto(const std::vector<GlobalNodeId>& nodes, uint64_t first_original) {
  const EdgeTypeId type(rows_.type);
  const NodeTypeId source = graph_.schema().SourceOf(type), destination = graph_.schema().DestinationOf(type);
  DrawOptions all;
  all.want_edge_ids = true;
  ASSIGN_OR_RETURN(const Frontier drawn,
                   graph_.SampleNeighbors({{destination, nodes}}, {{type, sampler::kFullNeighborhood}}, all));
  const FrontierRelation& relation = drawn.relations.front();
  ASSIGN_OR_RETURN(const Tensor sources, graph_.NodeRows(source, sampler::kOriginalIdColumn, relation.sources));
  for (size_t node = 0; node < nodes.size(); ++node) {
    for (uint64_t edge = relation.offsets[node]; edge < relation.offsets[node + 1]; ++edge) {
      edges_.emplace_back(relation.edge_ids[edge].value);
      ends_ = HashCombine(HashCombine(ends_, first_original + node), sources.values<uint64_t>()[edge]);
    }
  }
  return Status();
}

Status RowOrder::ReadEdges() {
  const EdgeTypeId type(rows_.type);
  if (next_destination_ == destinations_.size()) {
    next_destination_ = 0;
    ASSIGN_OR_RETURN(destinations_, NextNodes(graph_.schema().DestinationOf(type), kNodesOfEdges));
    ASSIGN_OR_RETURN(degrees_, graph_.InDegrees(type, destinations_));
  }
  const std::span<const uint32_t> degrees = degrees_.values<uint32_t>();
  const size_t first = next_destination_;
  uint64_t num_edges = 0;
  size_t end = first;
  while (end < destinations_.size() && (end == first || num_edges + degrees[end] <= kEdgesPerQuestion)) {
    num_edges += degrees[end++];
  }
  next_destination_ = end;
  if (num_edges == 0) return Status();
  const auto at = [this](size_t i) { return destinations_.begin() + static_cast<std::ptrdiff_t>(i); };
  return ReadEdgesInto({at(first), at(end)}, next_original_ - (destinations_.size() - first));
}

bool RowOrder::AllEdgesWereRead() const {
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
  while (edges_.size() < count && !AllEdgesWereRead()) RETURN_IF_ERROR(ReadEdges());
  const auto end = edges_.begin() + static_cast<std::ptrdiff_t>(std::min<uint64_t>(count, edges_.size()));
  rows.assign(edges_.begin(), end);
  edges_.erase(edges_.begin(), end);
  return rows;
}

}  // namespace espalier::client
