// Clusters vertices that belong together, for coarsening.
#pragma once

#include <cstdint>
#include <vector>

#include "services/partition/weighted_graph.h"

namespace espalier::partition {

// Returns a label in [0, vertices) for each vertex; vertices with the same label form a cluster. The weight of a
// cluster under constraint c is at most limits[c], or the weight of its heaviest vertex if that is larger. A
// deterministic function of the graph, the limits and the key, for any number of threads. Memory: 16 bytes per vertex,
// plus 4 per vertex and constraint.
std::vector<uint32_t> ClusterVertices(const WeightedGraph& graph, const std::vector<int64_t>& limits, uint64_t key,
                                      int threads);

}  // namespace espalier::partition
