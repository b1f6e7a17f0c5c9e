// Partitioning in bounded memory (spec.partitioner.memory): what it can do, and how much it needs.
#pragma once

#include <cstdint>
#include <string>

#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"
#include "services/partition/build_partition.h"
#include "services/partition/memory_need.h"
#include "services/partition/partitioner.h"

namespace espalier::partitioner {

// Returns InvalidArgument if the memory cannot be bounded: METIS, and preprocessing or held-out edges that change the
// graph, hold it in memory, and several processes divide it.
Status CheckForMemory(const job::Graph& graph, bool holds_edges_out, bool in_group);

// What the memory is needed for, besides the options that bound it.
struct MemoryUse {
  uint64_t memory_bytes = 0;
  job::PartitionAlgorithm algorithm = job::PartitionAlgorithm::kStreaming;
  const partition::PartitionOptions& cut;
  const partition::BuildOptions& build;
  double largest_to_average = partition::kBalanced;  // the largest partition, in nodes or edges
};

// Returns InvalidArgument if the graph cannot be cut, or its partitions not be built, in the memory. Reads only the
// shapes of arrays. The message has the bytes that both need.
Status CheckMemory(const graph::SourceGraph& graph, const MemoryUse& use);

// Makes the scratch space of a partitioner (PartitionOptions::make_scratch) as an unnamed file in `folder`, whose disk
// space is reserved. ResourceExhausted if there is not enough; the message has the bytes and the folder.
Result<partition::ScratchSpace> MakeScratchSpace(const std::string& folder, uint64_t size_bytes);

}  // namespace espalier::partitioner
