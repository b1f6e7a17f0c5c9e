// The state of restreamed linear deterministic greedy between two nodes of the stream (streaming_partitioner.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/permutation.h"
#include "services/partition/balance.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

inline constexpr int kRestreamPasses = 6;  // one, and five restreams

// The order in which vertices (undirected_graph.h) come by in every pass: position -> vertex.
Permutation StreamOrder(uint64_t seed, uint64_t num_vertices);

// Neighbours of one vertex, each once; `weights` (edges between the two) is empty where all are 1.
struct WeightedNeighbors {
  std::span<const uint32_t> neighbors;
  std::span<const uint32_t> weights;
};

// Owned by one thread.
class Restream {
 public:
  // `weights` outlives this.
  Restream(const VertexWeights& weights, uint64_t num_vertices, uint32_t num_partitions);

  void StartPass();
  // Each vertex comes by once in a pass.
  void Place(uint64_t vertex, const WeightedNeighbors& adjacent) { PutAt(vertex, Choose(vertex, adjacent)); }
  // The same where another process has chosen.
  void PutAt(uint64_t vertex, uint32_t partition);

  uint32_t PartitionFor(uint64_t vertex) const { return partition_of_[vertex]; }
  std::vector<uint32_t> TakeResult() { return std::move(partition_of_); }

 private:
  uint32_t Choose(uint64_t vertex, const WeightedNeighbors& adjacent);
  uint32_t Emptiest(uint64_t vertex) const;
  // The fullest constraint that the vertex counts towards, as a fraction of its capacity; with the vertex or not.
  double Before(uint64_t vertex, uint32_t partition) const { return Fullest(vertex, partition, 0); }
  double After(uint64_t vertex, uint32_t partition) const { return Fullest(vertex, partition, 1); }
  double Fullest(uint64_t vertex, uint32_t partition, int times) const;
  int32_t VertexWeight(uint64_t vertex, size_t c) const { return weights_.weights[vertex * num_constraints_ + c]; }

  const VertexWeights& weights_;  // outlives this
  const size_t num_constraints_;
  const uint32_t num_partitions_;
  std::vector<double> capacities_;  // by constraint
  std::vector<uint64_t> loads_;     // [partition, constraint]
  std::vector<uint32_t> partition_of_;
  std::vector<uint64_t> affinity_;  // by partition: edges to the vertex at hand; 0 between vertices
  std::vector<uint32_t> touched_;   // partitions with affinity
};

}  // namespace espalier::partition
