// A rank's own nodes of a split, of a mask or of a list of ids, for loops that give each rank a list of its own: what
// DGL calls node_split.
//
//   ASSIGN_OR_RETURN(NodeShare mine, NodeSplit(*graph, paper, "time", graph::SplitPartName::kTrain, {}));
//   NodeLoaderOptions options{.seed_type = paper, .batch_size = 1024, .sampling = spec};  // 1024 of this rank
//   ASSIGN_OR_RETURN(auto loader, DistNodeDataLoader::Make(*graph, std::move(mine), options, collate));
//
// No rank waits for another: each finds its share alone, and all shares together are the whole, each node once. What is
// held is the share, and nodes_per_question nodes (of a mask: its values) beside it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/client/dist_tensor.h"
#include "services/client/split_shares.h"

namespace espalier::client {

struct NodeSplitOptions {
  SplitBy by = SplitBy::kEven;
  uint64_t nodes_per_question = uint64_t{1} << 20;  // at least 1
};

struct NodeShare {
  std::vector<GlobalNodeId> nodes;  // in the order of what is split; none where there are more ranks than nodes
  uint64_t largest = 0;             // nodes of the rank that has most: what makes epochs equally long everywhere
};

// All are for the rank and world size of the graph's context. InvalidArgument: a type or a node that does not exist, or
// questions of no nodes.

// A part of a named split, in the order of original ids. kEven reads the share, kLocality passes over the whole part.
// NotFound where the split does not exist.
Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, const std::string& split,
                            graph::SplitPartName part, const NodeSplitOptions& options);
// A list that every rank has, in its order. Nobody is asked.
Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, std::span<const GlobalNodeId> ids,
                            const NodeSplitOptions& options);
// The nodes where `mask` is not 0, in the order of global ids, which is the partitioning's: another one gives other
// even shares. `mask`: Bool or U8, one value for each node of a type, none of which changes meanwhile
// (FailedPrecondition where that is noticed). A rank reads the mask's rows in the partitions of its share alone: of
// kEven from the beginning of the first to the end of the share.
Result<NodeShare> NodeSplit(const DistGraph& graph, const DistTensor& mask, const NodeSplitOptions& options);

}  // namespace espalier::client
