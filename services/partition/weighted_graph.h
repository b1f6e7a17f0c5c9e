// One level of the multilevel algorithm: a graph whose vertices and edges have weights, and its contraction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/partition/undirected_graph.h"

namespace espalier::partition {

// A graph whose vertices have one weight for each balance constraint. In a coarse graph the neighbors of a vertex are
// distinct but not sorted.
struct WeightedGraph {
  UndirectedGraph adjacency;
  size_t num_constraints = 1;
  std::vector<int32_t> vertex_weights;  // [vertices, constraints], row-major

  uint64_t num_vertices() const { return adjacency.num_vertices(); }
  std::span<const int32_t> WeightsAt(uint64_t vertex) const {
    return std::span(vertex_weights).subspan(vertex * num_constraints, num_constraints);
  }
};

// Replaces the cluster labels, any numbers in [0, labels->size()), by consecutive numbers from 0 in the order of the
// labels. Returns the number of clusters.
uint32_t NumberClusters(std::vector<uint32_t>* labels);

// Returns the graph whose vertices are the clusters. The weight of a vertex is the sum over the members of its cluster,
// and the weight of an edge is the sum over the edges between its two clusters; a sum that exceeds the largest value of
// its type is set to that value. Drops edges within a cluster. cluster_of: [vertices], numbers in [0, num_clusters);
// every cluster has a member. The result does not depend on the number of threads. Memory: 16 bytes for each direction
// of an edge between clusters; the result keeps 8 of them.
WeightedGraph Contract(const WeightedGraph& graph, std::span<const uint32_t> cluster_of, uint32_t num_clusters,
                       int threads);

}  // namespace espalier::partition
