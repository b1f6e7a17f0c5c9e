// Divides the edges of a split, a mask or a list of ids among ranks, for training loops in which each rank has its own
// list of seed edges. Counterpart of DGL's edge_split.
//
//   ASSIGN_OR_RETURN(EdgeShare mine, EdgeSplit(*graph, train_mask, {}));  // train_mask: a DistTensor over edges
//   EdgeLoaderOptions options{.batch_size = 1024, .sampling = spec};      // 1024 edges of this rank
//   ASSIGN_OR_RETURN(auto loader, DistEdgeDataLoader::Make(*graph, std::move(mine), options, collate));
//
// Not a collective operation: each rank computes its share without communicating with other ranks. Every edge is in the
// share of exactly one rank. Memory: the share, plus the edges or mask values of one query (edges_per_request).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/client/splits/edge_list.h"
#include "services/client/splits/split_shares.h"
#include "services/client/tensors/dist_tensor.h"

namespace espalier::client {

struct EdgeSplitOptions {
  SplitBy by = SplitBy::kEven;
  uint64_t edges_per_request = kEdgesPerRequest;  // edges per query, at least 1
  // Labels and other edge columns whose rows are returned with the share (EdgeList::rows). For a named split without
  // want_ids this is the only way to read them. Each column takes one more pass over the edges of the share.
  std::vector<std::string> columns = {};
  // Requests edge ids for a named split; shares of ids and masks always have them. If the split has no edge numbers
  // (docs/graph-formats.md), the graph must have exactly one edge for each pair of nodes in the split; otherwise
  // InvalidArgument, which names the pair.
  bool want_ids = false;
};

// The edges of one rank.
struct EdgeShare {
  EdgeList edges;        // in the order of the input; may be empty
  uint64_t largest = 0;  // size of the largest share; loaders use it for epochs of equal length on all ranks
};

// The functions below return the share of the rank in the graph's context, for the world size in that context.
// InvalidArgument: a type or an edge does not exist, or edges_per_request is 0. If columns of a named split are
// requested, also: the graph has no edge for a pair of nodes in the share, or the split has no edge numbers and the
// graph has several edges with different rows for a pair. NotFound: there is no such column.

// Divides one part of a named split, in the order of the input files, without ids unless want_ids is set. kEven reads
// only the share, kLocality the entire part. NotFound: there is no such split.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                            graph::SplitPartName part, const EdgeSplitOptions& options);
// Divides a list of ids, which must be the same on all ranks; the share keeps its order and has ids. Queries only the
// endpoints of the share.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, std::span<const GlobalEdgeId> ids,
                            const EdgeSplitOptions& options);
// Divides the edges whose `mask` value is not 0, in the order of global ids. That order depends on the partitioning, so
// kEven gives other shares under another partitioning. `mask` has dtype Bool or U8 and one value for each edge of a
// type; it must not change during the call (FailedPrecondition if a change is detected). A rank reads mask rows only of
// the partitions with edges of its share; with kEven it reads the rows from the start of the first such partition to
// the end of the share.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, const DistTensor& mask, const EdgeSplitOptions& options);

}  // namespace espalier::client
