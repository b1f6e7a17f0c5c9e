// Divides the edges of a split, mask or list between ranks, for training loops with a list of seed edges per rank.
// Counterpart of DGL's edge_split.
//
//   ASSIGN_OR_RETURN(EdgeShare mine, EdgeSplit(*graph, train_mask, {}));  // a DistTensor over the edges of a type
//   EdgeLoaderOptions options{.batch_size = 1024, .sampling = spec};      // 1024 edges of this rank
//   ASSIGN_OR_RETURN(auto loader, DistEdgeDataLoader::Make(*graph, std::move(mine), options, collate));
// Not a collective call: each rank computes its share by itself, and each edge is in the share of exactly one rank.
// Memory: the share, and edges_per_request edges (or values of a mask).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/client/dist_tensor.h"
#include "services/client/edge_list.h"
#include "services/client/split_shares.h"

namespace espalier::client {

struct EdgeSplitOptions {
  SplitBy by = SplitBy::kEven;
  uint64_t edges_per_request = kEdgesPerRequest;  // at least 1
  // Labels and other edge columns whose rows are kept with the share (EdgeList::rows). Of a named split there is no
  // other way to them, and each takes another pass over what the share is taken from.
  std::vector<std::string> columns = {};
  // Of a named split (shares of other things have ids anyway): each pair must be an edge of the graph, and one alone,
  // or named by its number; else InvalidArgument names it.
  bool want_ids = false;
};

struct EdgeShare {
  EdgeList edges;        // in the order of the input; may be empty
  uint64_t largest = 0;  // number of edges of the rank with the most; makes epochs equally long on all ranks
};

// The functions below use rank and world size of the graph's context. InvalidArgument: a type or edge that does not
// exist; a pair whose column values are requested and that is no edge, or is several edges with different values;
// edges_per_request of 0. NotFound: no such column.

// Divides a part of a named split, in the order of the input, without ids unless want_ids. kEven reads the share only,
// kLocality reads the whole part. NotFound: the split does not exist.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                            graph::SplitPartName part, const EdgeSplitOptions& options);
// Divides a list that every rank passes, in its order; the share has ids. Only the end nodes of the share are
// requested.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, std::span<const GlobalEdgeId> ids,
                            const EdgeSplitOptions& options);
// Divides the edges where `mask` is not 0, in the order of global ids; the shares of kEven therefore depend on the
// partitioning. `mask`: Bool or U8, one value per edge of a type; it must not change during the call
// (FailedPrecondition where a change is noticed). A rank reads the mask only in the partitions of its share; with
// kEven, from the beginning of the first partition to the end of the share.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, const DistTensor& mask, const EdgeSplitOptions& options);

}  // namespace espalier::client
