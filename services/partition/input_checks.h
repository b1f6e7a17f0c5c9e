// What every algorithm here relies on before it follows an edge or a split.
#pragma once

#include "services/graph/source_graph.h"

namespace espalier::partition {

// InvalidArgument: no partitions, or fewer than there are nodes for: a partition has fewer than 2^32 of a type. To be
// asked before memory is taken for each node: how many there are may be a number that a file says and nothing proves.
Status CheckNumPartitions(const graph::SourceGraph& graph, uint32_t num_partitions);

// One pass over the edges, `threads` at once. InvalidArgument where an edge type's arrays do not belong together,
// OutOfRange for the first edge of a type whose ends do not exist.
Status CheckEdges(const graph::SourceGraph& graph, int threads);

// OutOfRange for nodes of splits that do not exist, InvalidArgument where a part of nodes is not ascending.
Status CheckSplits(const graph::SourceGraph& graph);

}  // namespace espalier::partition
