// What Preprocess (graph/preprocess.h) does to edges, by several processes: each changes its share of them, and
// together they have the edges, with the original ids, that one process has of the whole.
//
// Dropping self loops, adding reverses and holding edges out look at one edge at a time; a share is changed as a graph
// of its own, whose edges are then given the numbers that they have in the whole. Duplicates may lie in several shares:
// each process is sent all edges into a range of the nodes, and keeps of each pair the one with the smallest id, as
// one process does. The order of the two makes no difference, since what is held out is held out with every duplicate.
#pragma once

#include <vector>

#include "services/graph/preprocess.h"
#include "services/partitioner/group/edge_exchange.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/group/tensor_bundle.h"

namespace espalier::partitioner {

bool ChangesEdges(const graph::PreprocessOptions& options);

struct PreprocessedShare {
  graph::SourceGraph graph;       // of the changed graph: name, schema, nodes and splits; of its edges the shares only
  std::vector<EdgeShare> shares;  // [edge type of `graph`]
};

// `source` must be valid. Features are left alone (share_features.h). Memory: the share, with reverses twice of it, and
// while duplicates are dropped the bundles of edge_exchange.h. Errors: as Preprocess's, of the group, and of the store.
Result<PreprocessedShare> PreprocessShare(ProcessGroup& group, const BundlePlace& place,
                                          const graph::SourceGraph& source, const graph::PreprocessOptions& options,
                                          int threads);

}  // namespace espalier::partitioner
