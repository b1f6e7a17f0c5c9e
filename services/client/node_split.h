// A rank's own nodes of a split, for loops that give each rank a list of its own: what DGL calls node_split.
//
//   ASSIGN_OR_RETURN(NodeShare mine, NodeSplit(*graph, paper, "time", graph::SplitPartName::kTrain, {}));
//   NodeLoaderOptions options{.seed_type = paper, .batch_size = 1024, .sampling = spec};  // 1024 of this rank
//   ASSIGN_OR_RETURN(auto loader, DistNodeDataLoader::Make(*graph, std::move(mine), options, collate));
//
// No rank waits for another: each finds its share alone, and all shares together are the split, each node once.
#pragma once

#include <string>
#include <vector>

#include "services/client/dist_graph.h"
#include "services/client/split_shares.h"

namespace espalier::client {

struct NodeSplitOptions {
  SplitBy by = SplitBy::kEven;
  uint64_t nodes_per_question = uint64_t{1} << 20;  // what is held at a time beside the share; at least 1
};

struct NodeShare {
  std::vector<GlobalNodeId> nodes;  // in the order of original ids; none where there are more ranks than nodes
  uint64_t largest = 0;             // nodes of the rank that has most: what makes epochs equally long everywhere
};

// For the rank and world size of the graph's context. kEven reads the share, kLocality passes over the whole split.
// NotFound where the split does not exist; InvalidArgument for questions of no nodes.
Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, const std::string& split,
                            graph::SplitPartName part, const NodeSplitOptions& options);

}  // namespace espalier::client
