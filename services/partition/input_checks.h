// Input checks that every algorithm relies on before it reads edges or splits.
#pragma once

#include "services/graph/source_graph.h"

namespace espalier::partition {

// Returns InvalidArgument if there are no partitions or too few: a partition holds fewer than 2^32 nodes of a type.
// Call it before allocating memory per node, because the number of nodes may be an unverified number from a file.
Status CheckNumPartitions(const graph::SourceGraph& graph, uint32_t num_partitions);

// Checks all edges in one pass with `threads` threads. InvalidArgument if the arrays of an edge type do not match;
// OutOfRange for the first edge of a type whose source or destination does not exist.
Status CheckEdges(const graph::SourceGraph& graph, int threads);

// Checks all splits. OutOfRange for nodes that do not exist; InvalidArgument if a part of a node split is not
// ascending.
Status CheckSplits(const graph::SourceGraph& graph);

}  // namespace espalier::partition
