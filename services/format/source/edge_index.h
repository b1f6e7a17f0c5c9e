// PyG's and OGB's way to write edges: one integer array [2, m], sources in the first row, destinations in the second.
#pragma once

#include "services/graph/source_graph.h"

namespace espalier::format {

// Returns an empty relation.
graph::EdgeSet NoEdges();

// Returns both ends as views of `edge_index`, which they keep alive. InvalidArgument unless it is [2, m] of an id type;
// an array without elements is an empty relation whatever its dtype (numpy.empty((2, 0)) is F64).
Result<graph::EdgeSet> EdgesOfIndex(const Tensor& edge_index);

}  // namespace espalier::format
