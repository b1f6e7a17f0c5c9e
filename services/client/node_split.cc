#include "services/client/node_split.h"

#include "services/client/split_reader.h"

namespace espalier::client {

Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, const std::string& split,
                            graph::SplitPartName part, const NodeSplitOptions& options) {
  if (options.nodes_per_question == 0) return InvalidArgument("a node split needs questions of at least 1 node");
  SplitReader reader(graph, type, split, part, options.nodes_per_question);
  ASSIGN_OR_RETURN(const uint64_t total, reader.Count());
  NodeShare share;
  if (options.by == SplitBy::kEven) {
    share.nodes.reserve(EvenStretch(total, graph.world_size(), graph.rank().value).size());
  }
  const auto owner = [&](const SplitItem& item) { return graph.book().OwnerOf(type, item.node); };
  const auto keep = [&](const SplitItem& item) { share.nodes.push_back(item.node); };
  ASSIGN_OR_RETURN(share.largest, TakeShare(graph, options.by, total, reader, owner, keep));
  return share;
}

}  // namespace espalier::client
