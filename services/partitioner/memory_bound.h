// Partitioning in bounded memory (spec.partitioner.memory): which options it supports, and how much memory it needs.
#pragma once

#include <cstdint>
#include <string>

#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"
#include "services/partition/build_partition.h"
#include "services/partition/memory_need.h"
#include "services/partition/partitioner.h"

namespace espalier::partitioner {

// Returns InvalidArgument if the memory cannot be bounded. METIS, Multilevel and any preprocessing or holding out of
// edges need the whole graph in memory. A group of processes (`in_group`) divides the memory and accepts no bound.
Status CheckForMemory(const job::Graph& graph, bool holds_edges_out, bool in_group);

// The bound, and the options that determine how much memory is needed.
struct MemoryUse {
  uint64_t memory_bytes = 0;
  job::PartitionAlgorithm algorithm = job::PartitionAlgorithm::kStreaming;
  const partition::PartitionOptions& cut;
  const partition::BuildOptions& build;
  double largest_to_average = partition::kBalanced;  // the largest partition, in nodes or edges
};

// Returns InvalidArgument if the memory is too small for cutting the graph or for building its partitions. Reads only
// the shapes of arrays. The message has the bytes that each of the two needs.
Status CheckMemory(const graph::SourceGraph& graph, const MemoryUse& use);

// Makes the scratch space of a partitioner (PartitionOptions::make_scratch) as an unnamed file in `folder`, whose disk
// space is reserved. ResourceExhausted if there is not enough; the message has the bytes and the folder.
Result<partition::ScratchSpace> MakeScratchSpace(const std::string& folder, uint64_t size_bytes);

}  // namespace espalier::partitioner
