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

// The distinct neighbors of one vertex. `weights` holds the number of edges to each; empty if all are 1.
struct WeightedNeighbors {
  std::span<const uint32_t> neighbors;
  std::span<const uint32_t> weights;
};

// Places vertices one after another in several passes. A caller runs kRestreamPasses passes: StartPass, then Place or
// PutAt once for every vertex in StreamOrder. Not thread-safe.
class Restream {
 public:
  // `weights` must outlive this object.
  Restream(const VertexWeights& weights, uint64_t num_vertices, uint32_t num_partitions);

  // Starts a pass with empty loads. Until a vertex is visited, it keeps its partition of the pass before.
  void StartPass();
  // Assigns `vertex` to the partition with the best score.
  void Place(uint64_t vertex, const WeightedNeighbors& adjacent) { PutAt(vertex, Choose(vertex, adjacent)); }
  // Assigns `vertex` to the partition that another process has chosen.
  void PutAt(uint64_t vertex, uint32_t partition);

  uint32_t PartitionFor(uint64_t vertex) const { return partition_of_[vertex]; }
  std::vector<uint32_t> TakeResult() { return std::move(partition_of_); }

 private:
  uint32_t Choose(uint64_t vertex, const WeightedNeighbors& adjacent);
  uint32_t Emptiest(uint64_t vertex) const;
  // Return the load of the fullest constraint in which the vertex has weight, as a fraction of its capacity, before and
  // after the vertex is added.
  double Before(uint64_t vertex, uint32_t partition) const { return Fullest(vertex, partition, 0); }
  double After(uint64_t vertex, uint32_t partition) const { return Fullest(vertex, partition, 1); }
  double Fullest(uint64_t vertex, uint32_t partition, int times) const;
  int32_t VertexWeight(uint64_t vertex, size_t c) const { return weights_.weights[vertex * num_constraints_ + c]; }

  const VertexWeights& weights_;
  const size_t num_constraints_;
  const uint32_t num_partitions_;
  std::vector<double> capacities_;  // by constraint
  std::vector<uint64_t> loads_;     // [partition, constraint]
  std::vector<uint32_t> partition_of_;
  std::vector<uint64_t> affinity_;  // by partition: edges to the current vertex; 0 between vertices
  std::vector<uint32_t> touched_;   // partitions with affinity
};

}  // namespace espalier::partition
