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

// Returns InvalidArgument if the options do not support a memory limit. METIS, Multilevel, preprocessing and held-out
// edges need the whole graph in memory. A group of processes (`in_group`) divides the graph and accepts no limit.
Status CheckOptionsForMemoryLimit(const job::Graph& graph, bool holds_edges_out, bool in_group);

// The memory limit, and the options that determine how much memory is needed.
struct MemoryUse {
  uint64_t memory_bytes = 0;
  job::PartitionAlgorithm algorithm = job::PartitionAlgorithm::kStreaming;
  const partition::PartitionOptions& cut;
  const partition::BuildOptions& build;
  // The size of the largest partition divided by the average, in nodes or in edges, whichever ratio is larger.
  double largest_to_average = partition::kBalancedLargestToAverage;
};

// Returns InvalidArgument if the memory limit is too small for cutting the graph or for building its partitions. Reads
// only the headers of arrays. The message names the bytes that cutting and building need.
Status CheckMemorySuffices(const graph::SourceGraph& graph, const MemoryUse& use);

// Makes the scratch space of a partitioner (PartitionOptions::make_scratch) as an unnamed file in `folder` and reserves
// disk space for it. ResourceExhausted if the disk has too little space; the message names the bytes and the folder.
Result<partition::ScratchSpace> MakeScratchSpace(const std::string& folder, uint64_t size_bytes);

}  // namespace espalier::partitioner
