// Divides the nodes of a split, a mask or a list of ids among ranks, for training loops in which each rank has its own
// list of seed nodes. Counterpart of DGL's node_split.
//
//   ASSIGN_OR_RETURN(NodeShare mine, NodeSplit(*graph, paper, "time", graph::SplitPartName::kTrain, {}));
//   NodeLoaderOptions options{.seed_type = paper, .batch_size = 1024, .sampling = spec};  // 1024 nodes of this rank
//   ASSIGN_OR_RETURN(auto loader, DistNodeDataLoader::Make(*graph, std::move(mine), options, collate));
//
// Not a collective operation: each rank computes its share without communicating with other ranks. Every node is in the
// share of exactly one rank. Memory: the share, plus the nodes or mask values of one query (nodes_per_request).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/client/splits/split_shares.h"
#include "services/client/tensors/dist_tensor.h"

namespace espalier::client {

struct NodeSplitOptions {
  SplitBy by = SplitBy::kEven;
  uint64_t nodes_per_request = uint64_t{1} << 20;  // nodes or mask values per query, at least 1
};

// The nodes of one rank.
struct NodeShare {
  std::vector<GlobalNodeId> nodes;  // in the order of the input; may be empty
  uint64_t largest = 0;             // size of the largest share; loaders use it for epochs of equal length on all ranks
};

// The functions below return the share of the rank in the graph's context, for the world size in that context.
// InvalidArgument: a type or a node does not exist, or nodes_per_request is 0.

// Divides one part of a named split, in the order of original ids. kEven reads only the share, kLocality the entire
// part. NotFound: there is no such split.
Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, const std::string& split,
                            graph::SplitPartName part, const NodeSplitOptions& options);
// Divides a list of ids, which must be the same on all ranks; the share keeps its order. Contacts no server.
Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, std::span<const GlobalNodeId> ids,
                            const NodeSplitOptions& options);
// Divides the nodes whose `mask` value is not 0, in the order of global ids. That order depends on the partitioning, so
// kEven gives other shares under another partitioning. `mask` has dtype Bool or U8 and one value for each node of a
// type; it must not change during the call (FailedPrecondition if a change is detected). A rank reads mask rows only of
// the partitions with nodes of its share; with kEven it reads the rows from the start of the first such partition to
// the end of the share.
Result<NodeShare> NodeSplit(const DistGraph& graph, const DistTensor& mask, const NodeSplitOptions& options);

}  // namespace espalier::client
