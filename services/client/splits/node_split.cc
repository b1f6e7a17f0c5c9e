// Each kind of input has a reader (SplitReader, IdReader, MaskReader) that reads items by position; TakeShare selects
// the items of this rank from the reader.
#include "services/client/splits/node_split.h"

#include "services/client/graph/split_reader.h"
#include "services/client/splits/list_readers.h"

namespace espalier::client {
namespace {

Status CheckNodeSplit(const DistGraph& graph, NodeTypeId type, const NodeSplitOptions& options) {
  if (options.nodes_per_request == 0) return InvalidArgument("nodes_per_request is 0, expected at least 1");
  return graph.schema().CheckNodeType(type);
}

// Returns this rank's share of the `total` items of the reader. node_of(item) returns the node of an item.
template <class Reader, class NodeOf>
Result<NodeShare> TakeShareOfNodes(const DistGraph& graph, NodeTypeId type, uint64_t total, Reader reader, SplitBy by,
                                   NodeOf node_of) {
  NodeShare share;
  if (by == SplitBy::kEven) share.nodes.reserve(ComputeEvenRange(total, graph.world_size(), graph.rank().value).size());
  const auto owner = [&](const auto& item) { return graph.book().OwnerOf(type, node_of(item)); };
  const auto keep = [&](const auto& item) { share.nodes.push_back(node_of(item)); };
  ASSIGN_OR_RETURN(share.largest, TakeShare(graph, by, total, reader, owner, keep));
  return share;
}

GlobalNodeId Itself(GlobalNodeId node) { return node; }

}  // namespace

Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, const std::string& split,
                            graph::SplitPartName part, const NodeSplitOptions& options) {
  RETURN_IF_ERROR(CheckNodeSplit(graph, type, options));
  const SplitReader reader(graph, type, split, part, options.nodes_per_request);
  ASSIGN_OR_RETURN(const uint64_t total, reader.Count());
  return TakeShareOfNodes(graph, type, total, reader, options.by, [](const SplitItem& item) { return item.node; });
}

Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, std::span<const GlobalNodeId> ids,
                            const NodeSplitOptions& options) {
  RETURN_IF_ERROR(CheckNodeSplit(graph, type, options));
  for (const GlobalNodeId id : ids) {
    if (id.value < graph.num_nodes(type)) continue;
    return InvalidArgument("node " + std::to_string(id.value) + " of type '" + graph.schema().NodeTypeName(type) +
                           "' does not exist; there are " + std::to_string(graph.num_nodes(type)));
  }
  return TakeShareOfNodes(graph, type, ids.size(), IdReader<GlobalNodeId>(ids), options.by, Itself);
}

Result<NodeShare> NodeSplit(const DistGraph& graph, const DistTensor& mask, const NodeSplitOptions& options) {
  RETURN_IF_ERROR(CheckMask(mask, sampler::RowsOf::kNodes));
  const NodeTypeId type(mask.rows().type);
  RETURN_IF_ERROR(CheckNodeSplit(graph, type, options));
  ASSIGN_OR_RETURN(const MaskReader<GlobalNodeId> reader,
                   MaskReader<GlobalNodeId>::Make(graph, mask, options.nodes_per_request));
  return TakeShareOfNodes(graph, type, reader.total(), reader, options.by, Itself);
}

}  // namespace espalier::client
