// Input checks that callers run before an algorithm reads edges or splits.
#pragma once

#include "services/graph/source_graph.h"

namespace espalier::partition {

// Returns InvalidArgument if `num_partitions` is 0 or too small for the graph: a partition holds fewer than 2^32 nodes
// of each type. Callers run it before they allocate memory per node, because the number of nodes may come unverified
// from a file.
Status CheckNumPartitions(const graph::SourceGraph& graph, uint32_t num_partitions);

// Checks all edges in one pass with `threads` threads. InvalidArgument if an array of an edge type has a wrong dtype or
// length; OutOfRange if the source or destination of an edge does not exist (the message names the first such edge).
Status CheckEdges(const graph::SourceGraph& graph, int threads);

// Checks all splits. OutOfRange for nodes that do not exist; InvalidArgument for types that do not exist, for parts of
// node splits whose IDs do not ascend, and for parts of edge splits whose arrays differ in length.
Status CheckSplits(const graph::SourceGraph& graph);

}  // namespace espalier::partition
