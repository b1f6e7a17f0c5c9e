#include "services/partition/restream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "services/partition/random_streams.h"

namespace espalier::partition {
namespace {

constexpr double kCapacitySlack = 1.03;  // largest partition / average; the default of METIS
constexpr uint32_t kNoPartition = ~uint32_t{0};
// With at most this many partitions, scoring all of them costs less than scoring the partition of each neighbor.
constexpr uint32_t kMaxScannedPartitions = 32;

}  // namespace

Permutation StreamOrder(uint64_t seed, uint64_t num_vertices) {
  return Permutation(PartitioningKey(seed, RandomStream::kStreamingOrder), num_vertices);
}

Restream::Restream(const VertexWeights& weights, uint64_t num_vertices, uint32_t num_partitions)
    : weights_(weights),
      num_constraints_(weights.num_constraints()),
      num_partitions_(num_partitions),
      loads_(num_partitions * num_constraints_, 0),
      partition_of_(num_vertices, static_cast<uint16_t>(num_partitions)),
      affinity_(num_partitions + 1, 0) {
  ESPALIER_CHECK(num_partitions < std::numeric_limits<uint16_t>::max()) << num_partitions << " partitions";
  for (const uint64_t total : weights.totals) {
    const double average = static_cast<double>(total) / num_partitions;
    capacities_.push_back(std::max(std::floor(average * kCapacitySlack), std::ceil(average)));
  }
}

void Restream::StartPass() { std::fill(loads_.begin(), loads_.end(), 0); }

void Restream::Assign(uint64_t vertex, uint32_t partition) {
  partition_of_[vertex] = static_cast<uint16_t>(partition);
  for (size_t c = 0; c < num_constraints_; ++c) {
    loads_[partition * num_constraints_ + c] += static_cast<uint64_t>(VertexWeight(vertex, c));
  }
}

double Restream::Fullness(uint64_t vertex, uint32_t partition, int times) const {
  double fullest = 0;
  for (size_t c = 0; c < num_constraints_; ++c) {
    const int32_t weight = VertexWeight(vertex, c);
    if (weight == 0) continue;
    const double load = static_cast<double>(loads_[partition * num_constraints_ + c]) + times * weight;
    fullest = std::max(fullest, load / capacities_[c]);
  }
  return fullest;
}

void Restream::UpdateBest(uint64_t vertex, uint32_t partition, double* best_score, uint32_t* best) {
  const uint64_t affinity = std::exchange(affinity_[partition], 0);
  if (affinity == 0) return;
  const double score = static_cast<double>(affinity) * (1 - FullnessBefore(vertex, partition));
  if (FullnessAfter(vertex, partition) > 1) return;
  if (score > *best_score || (score == *best_score && *best != kNoPartition && partition < *best)) {
    *best = partition;
    *best_score = score;
  }
}

// Returns the partition with the best score among those with neighbors and free capacity; ties go to the lower number.
// If there is none, returns the emptiest partition. The loop that counts neighbors has no branch that depends on their
// partitions, because a processor could not predict it.
uint32_t Restream::Choose(uint64_t vertex, std::span<const uint32_t> neighbors) {
  for (const uint32_t neighbor : neighbors) ++affinity_[partition_of_[neighbor]];
  affinity_[num_partitions_] = 0;
  uint32_t best = kNoPartition;
  double best_score = 0;
  if (num_partitions_ <= kMaxScannedPartitions) {
    for (uint32_t partition = 0; partition < num_partitions_; ++partition) {
      UpdateBest(vertex, partition, &best_score, &best);
    }
  } else {
    for (const uint32_t neighbor : neighbors) UpdateBest(vertex, partition_of_[neighbor], &best_score, &best);
  }
  return best == kNoPartition ? FindEmptiest(vertex) : best;
}

uint32_t Restream::FindEmptiest(uint64_t vertex) const {
  uint32_t emptiest = 0;
  double least = FullnessAfter(vertex, 0);
  for (uint32_t partition = 1; partition < num_partitions_ && least > 0; ++partition) {
    const double after = FullnessAfter(vertex, partition);
    if (after < least) {
      emptiest = partition;
      least = after;
    }
  }
  return emptiest;
}

}  // namespace espalier::partition
