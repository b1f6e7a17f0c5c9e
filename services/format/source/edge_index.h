// Edges as PyG and OGB store them (edge_index): one integer array [2, m] with sources in the first row and destinations
// in the second.
#pragma once

#include "services/graph/source_graph.h"

namespace espalier::format {

// Returns an edge set without edges.
graph::EdgeSet NoEdges();

// Returns sources and destinations as views of `edge_index`, whose memory the views keep alive. Returns
// InvalidArgument unless it is [2, m] of I32, I64, U32 or U64. An array without elements is an edge set without edges,
// whatever its dtype and shape, because numpy.empty((2, 0)) is F64.
Result<graph::EdgeSet> ToEdgeSet(const Tensor& edge_index);

}  // namespace espalier::format
