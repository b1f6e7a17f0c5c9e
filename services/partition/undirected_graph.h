// The input of the algorithms METIS and Multilevel: one undirected graph over all node and edge types, without self
// loops and with parallel edges merged.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// Returns the first vertex number of each node type: [node types + 1]. Original node i of type t is vertex
// VertexFirst(graph)[t] + i.
std::vector<uint64_t> VertexFirst(const graph::SourceGraph& graph);

// Returns InvalidArgument if there are 2^32 or more vertices.
Status CheckNumVertices(uint64_t num_vertices);

// The neighbors of vertex v are at positions [offsets[v], offsets[v + 1]), ascending. Each edge is stored at both
// endpoints.
struct UndirectedGraph {
  std::vector<uint64_t> offsets;    // [n + 1]
  std::vector<uint32_t> neighbors;  // [offsets[n]]
  std::vector<uint32_t> weights;    // [offsets[n]]: number of merged edges of both directions; empty if all equal

  uint64_t num_vertices() const { return offsets.size() - 1; }
  // Returns the weight of the edge at the position; 1 if all weights are equal.
  uint32_t WeightAt(uint64_t position) const { return weights.empty() ? 1 : weights[position]; }
};

// Returns the undirected graph. The edges must have passed CheckEdges. InvalidArgument if there are 2^32 or more nodes.
// Memory: 8 bytes per vertex and per directed edge, and 4 more per element of `neighbors` if weights differ. The
// result does not depend on the number of threads. `before_neighbors`, unless null, is called before memory for
// neighbors is allocated; its `offsets` count each parallel edge, because merging comes later. Its error is returned.
Result<UndirectedGraph> MakeUndirectedGraph(
    const graph::SourceGraph& graph, int threads,
    const std::function<Status(std::span<const uint64_t> offsets)>& before_neighbors = nullptr);

// Returns the assignment of vertex v to partition v % num_partitions if the edges do not matter: there is one
// partition, or there are at most as many nodes as partitions. Returns nullopt otherwise. METIS and Multilevel call
// this function first, because it also checks the graph. Errors: those of CheckNumPartitions and CheckEdges.
Result<std::optional<Assignment>> AssignWithoutCut(const graph::SourceGraph& graph, const PartitionOptions& options);

// Returns the partitions of the vertices as an assignment by node type. `vertex_first` is from VertexFirst.
Assignment SplitByType(const std::vector<uint64_t>& vertex_first, const std::vector<uint32_t>& partition_of_vertex);

}  // namespace espalier::partition
