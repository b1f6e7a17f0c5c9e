// The graph as cutting algorithms see it: all node types in one numbering, all edge types in one undirected graph
// without self loops, parallel edges merged.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// Vertex numbers: original node i of type t is vertex VertexFirst(graph)[t] + i. [node types + 1]
std::vector<uint64_t> VertexFirst(const graph::SourceGraph& graph);

// InvalidArgument: there are 2^32 or more.
Status CheckNumVertices(uint64_t num_vertices);

// Neighbours of vertex v stand at [offsets[v], offsets[v + 1]), ascending; each edge is there from both ends.
struct UndirectedGraph {
  std::vector<uint64_t> offsets;    // [n + 1]
  std::vector<uint32_t> neighbors;  // [offsets[n]]
  std::vector<uint32_t> weights;    // directed edges between the two ends, both ways; empty where all are equal

  uint64_t num_vertices() const { return offsets.size() - 1; }
  uint32_t WeightAt(uint64_t position) const { return weights.empty() ? 1 : weights[position]; }
};

// The edges must have passed CheckEdges. InvalidArgument where there are 2^32 nodes or more. Memory: 8 bytes per
// directed edge, 4 more per distinct neighbour where multiplicities differ. The same for every number of threads.
// `before_neighbors`, unless null, is asked before there is memory for neighbours: its argument is `offsets` as they
// are while parallel edges stand side by side, and its error is the result.
Result<UndirectedGraph> MakeUndirectedGraph(
    const graph::SourceGraph& graph, int threads,
    const std::function<Status(std::span<const uint64_t> offsets)>& before_neighbors = nullptr);

// Partitions of vertices, back by node type.
Assignment SplitByType(const std::vector<uint64_t>& vertex_first, const std::vector<uint32_t>& partition_of_vertex);

}  // namespace espalier::partition
