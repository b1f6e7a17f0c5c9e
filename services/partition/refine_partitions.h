// Improves the partitions of a graph's vertices by moving single vertices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/partition/balance.h"
#include "services/partition/weighted_graph.h"

namespace espalier::partition {

// Returns the largest load that a partition may have under each constraint: 1.03 times the average, the tolerance of
// METIS, but at least the average rounded up. `totals` are the sums of the weights of all vertices, by constraint.
std::vector<int64_t> PartitionCapacities(std::span<const uint64_t> totals, uint32_t num_partitions);

// Changes `partition_of` ([vertices], numbers below num_partitions): first moves vertices out of partitions that exceed
// a capacity, as far as possible, then moves vertices so that fewer edges are cut. The result is a deterministic
// function of the input partitions, the graph, the capacities and the key, for any number of threads.
void RefinePartitions(const WeightedGraph& graph, std::span<const int64_t> capacities, uint32_t num_partitions,
                      uint64_t key, int threads, std::vector<uint32_t>* partition_of);

}  // namespace espalier::partition
