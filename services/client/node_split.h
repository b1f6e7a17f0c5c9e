// Divides the nodes of a split, mask or list between ranks, for training loops with a list of seed nodes per rank.
// Counterpart of DGL's node_split.
//
//   ASSIGN_OR_RETURN(NodeShare mine, NodeSplit(*graph, paper, "time", graph::SplitPartName::kTrain, {}));
//   NodeLoaderOptions options{.seed_type = paper, .batch_size = 1024, .sampling = spec};  // 1024 of this rank
//   ASSIGN_OR_RETURN(auto loader, DistNodeDataLoader::Make(*graph, std::move(mine), options, collate));
// Not a collective call: each rank computes its share by itself, and each node is in the share of exactly one rank.
// Memory: the share, and nodes_per_request nodes (or values of a mask).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/client/dist_tensor.h"
#include "services/client/split_shares.h"

namespace espalier::client {

struct NodeSplitOptions {
  SplitBy by = SplitBy::kEven;
  uint64_t nodes_per_request = uint64_t{1} << 20;  // at least 1
};

struct NodeShare {
  std::vector<GlobalNodeId> nodes;  // in the order of the input; may be empty
  uint64_t largest = 0;             // number of nodes of the rank with the most; makes epochs equally long on all ranks
};

// The functions below use rank and world size of the graph's context. InvalidArgument: a type or node that does not
// exist, or nodes_per_request of 0.

// Divides a part of a named split, in the order of original ids. kEven reads the share only, kLocality reads the whole
// part. NotFound: the split does not exist.
Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, const std::string& split,
                            graph::SplitPartName part, const NodeSplitOptions& options);
// Divides a list that every rank passes, in its order. Sends no request.
Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, std::span<const GlobalNodeId> ids,
                            const NodeSplitOptions& options);
// Divides the nodes where `mask` is not 0, in the order of global ids; the shares of kEven therefore depend on the
// partitioning. `mask`: Bool or U8, one value per node of a type; it must not change during the call
// (FailedPrecondition where a change is noticed). A rank reads the mask only in the partitions of its share; with
// kEven, from the beginning of the first partition to the end of the share.
Result<NodeShare> NodeSplit(const DistGraph& graph, const DistTensor& mask, const NodeSplitOptions& options);

}  // namespace espalier::client
