// Preprocessing of edges (graph/preprocess.h) by several processes. Each process changes its share; together, the
// shares contain the same edges with the same original IDs as if one process had preprocessed the whole graph.
//
// Dropping self loops, adding reverse edges and holding out edges depend on single edges, so each process preprocesses
// its share as a separate graph and then renumbers the edges to their original IDs in the whole graph. Duplicates may
// be in different shares, so each process receives all edges into a range of the nodes. Among edges with the same
// source and destination, it keeps the edge with the smallest original ID. Preprocess drops duplicates before it holds
// out edges; the reverse order used here gives the same result, because an edge is held out together with all its
// duplicates.
#pragma once

#include <vector>

#include "services/graph/preprocess.h"
#include "services/partitioner/group/edge_exchange.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/group/tensor_bundle.h"

namespace espalier::partitioner {

// Returns whether the options add or drop edges.
bool ChangesEdges(const graph::PreprocessOptions& options);

struct PreprocessedShare {
  graph::SourceGraph graph;       // the preprocessed graph, with only this process's share of the edges
  std::vector<EdgeShare> shares;  // [edge type of `graph`]
};

// Returns this process's share of the preprocessed graph. `source` must be valid. Does not change features
// (share_features.h). Memory: the share, or twice the share if reverse edges are added; while duplicates are dropped,
// also the memory of SendEdges and ReceiveEdges. Errors: those of Preprocess, of the group, and of the store.
Result<PreprocessedShare> PreprocessShare(ProcessGroup& group, const BundlePlace& place,
                                          const graph::SourceGraph& source, const graph::PreprocessOptions& options,
                                          int threads);

}  // namespace espalier::partitioner
