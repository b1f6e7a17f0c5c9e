// A rank's own edges of a split, of a mask or of a list of ids, for loops that give each rank a list of its own: what
// DGL calls edge_split.
//
//   ASSIGN_OR_RETURN(EdgeShare mine, EdgeSplit(*graph, train_mask, {}));  // a DistTensor over the edges of a type
//   EdgeLoaderOptions options{.batch_size = 1024, .sampling = spec};      // 1024 edges of this rank
//   ASSIGN_OR_RETURN(auto loader, DistEdgeDataLoader::Make(*graph, std::move(mine), options, collate));
//
// No rank waits for another: each finds its share alone, and all shares together are the whole, each edge once. What is
// held is the share, and edges_per_question edges (of a mask: its values) beside it.
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
  uint64_t edges_per_question = kEdgesPerQuestion;  // at least 1
  // Labels and other edge columns whose rows are kept with the share (EdgeList::rows). Of a named split there is no
  // other way to them, and each takes another pass over what the share is taken from.
  std::vector<std::string> columns = {};
  // Of a named split (shares of other things have ids anyway): each pair must be an edge of the graph, and one alone,
  // or named by its number; else InvalidArgument names it.
  bool want_ids = false;
};

struct EdgeShare {
  EdgeList edges;        // in the order of what is split; none where there are more ranks than edges
  uint64_t largest = 0;  // edges of the rank that has most: what makes epochs equally long everywhere
};

// All are for the rank and world size of the graph's context. InvalidArgument: a type or an edge that does not exist,
// a pair whose row is asked for and that is no edge, or several whose rows differ, or questions of no edges. NotFound:
// there is no such column.

// A part of a named split, in the user's order, without ids unless they are wanted. kEven reads the share, kLocality
// passes over the whole part. NotFound where the split does not exist.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                            graph::SplitPartName part, const EdgeSplitOptions& options);
// A list that every rank has, in its order; the share has ids. Only the share's ends are asked for.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, std::span<const GlobalEdgeId> ids,
                            const EdgeSplitOptions& options);
// The edges where `mask` is not 0, in the order of global ids, which is the partitioning's: another one gives other
// even shares. `mask`: Bool or U8, one value for each edge of a type, none of which changes meanwhile
// (FailedPrecondition where that is noticed). A rank reads the mask's rows in the partitions of its share alone: of
// kEven from the beginning of the first to the end of the share.
Result<EdgeShare> EdgeSplit(const DistGraph& graph, const DistTensor& mask, const EdgeSplitOptions& options);

}  // namespace espalier::client
