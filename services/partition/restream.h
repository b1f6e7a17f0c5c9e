// The state of the restreamed linear deterministic greedy algorithm (streaming_partitioner.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/permutation.h"
#include "services/partition/balance.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

inline constexpr int kRestreamPasses = 6;  // the first pass and five restreams

// Returns the order in which every pass visits the vertices (undirected_graph.h): position -> vertex.
Permutation StreamOrder(uint64_t seed, uint64_t num_vertices);

// Places vertices one after another in several passes. A caller runs kRestreamPasses passes: StartPass, then Place or
// Assign once for every vertex in StreamOrder. Not thread-safe.
class Restream {
 public:
  // `weights` must outlive this object. There must be fewer than 2^16 - 1 partitions (checked).
  Restream(const VertexWeights& weights, uint64_t num_vertices, uint32_t num_partitions);

  // Starts a pass with empty loads. Until a vertex is visited, it keeps its partition of the previous pass.
  void StartPass();
  // Assigns `vertex` to the partition with the best score. `neighbors` contains each neighbor once per edge to it, in
  // any order. If all pairs of adjacent vertices have the same number of edges between them, once per neighbor
  // suffices.
  void Place(uint64_t vertex, std::span<const uint32_t> neighbors) { Assign(vertex, Choose(vertex, neighbors)); }
  // Prefetch the memory that Place reads for a vertex and for a neighbor.
  void PrefetchVertex(uint64_t vertex) const {
    __builtin_prefetch(weights_.weights.data() + vertex * num_constraints_);
  }
  void PrefetchNeighbor(uint32_t neighbor) const { __builtin_prefetch(partition_of_.data() + neighbor); }
  // Assigns `vertex` to `partition`, such as one that another process has chosen.
  void Assign(uint64_t vertex, uint32_t partition);

  // Returns the partition of the vertex, or num_partitions before its first visit.
  uint32_t PartitionFor(uint64_t vertex) const { return partition_of_[vertex]; }
  // Returns the partitions of the vertices. All vertices must have been assigned.
  std::vector<uint32_t> TakeResult() && { return {partition_of_.begin(), partition_of_.end()}; }

 private:
  uint32_t Choose(uint64_t vertex, std::span<const uint32_t> neighbors);
  // Sets the affinity of `partition` to 0. Sets *best and *best_score to `partition` and its score if the vertex fits
  // into it and this score is higher than *best_score, or equal and `partition` is lower than *best.
  void UpdateBest(uint64_t vertex, uint32_t partition, double* best_score, uint32_t* best);
  uint32_t FindEmptiest(uint64_t vertex) const;
  // Return the load of the partition as a fraction of its capacity, for the constraint with the largest fraction among
  // those in which the vertex has weight. FullnessBefore: without the vertex; FullnessAfter: with it; Fullness: with
  // its weight added `times` times.
  double FullnessBefore(uint64_t vertex, uint32_t partition) const { return Fullness(vertex, partition, 0); }
  double FullnessAfter(uint64_t vertex, uint32_t partition) const { return Fullness(vertex, partition, 1); }
  double Fullness(uint64_t vertex, uint32_t partition, int times) const;
  int32_t VertexWeight(uint64_t vertex, size_t c) const { return weights_.weights[vertex * num_constraints_ + c]; }

  const VertexWeights& weights_;
  const size_t num_constraints_;
  const uint32_t num_partitions_;
  std::vector<double> capacities_;      // by constraint
  std::vector<uint64_t> loads_;         // [partition, constraint]
  std::vector<uint16_t> partition_of_;  // num_partitions_ before the vertex is visited for the first time
  // By partition: number of edges to the vertex for which Choose was called; all 0 between calls. The last element
  // counts neighbors that have no partition yet.
  std::vector<uint64_t> affinity_;
};

}  // namespace espalier::partition
