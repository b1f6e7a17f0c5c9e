// Computes how much memory partitioning needs; reads only the headers of the graph's arrays (counts, dtypes and
// shapes). Streaming is a partition algorithm (partitioner.h); its vertices are the nodes of all types.
#pragma once

#include <cstdint>

#include "services/graph/source_graph.h"
#include "services/partition/build_partition.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// Returns the part of Streaming's memory, in bytes, that does not depend on the graph: code, stacks and buffers.
uint64_t FixedStreamingBytes();

// Returns the bytes per vertex that Streaming keeps in memory while it builds the rows of neighbors (stream_rows.h),
// with `num_constraints` balance constraints.
uint64_t StreamingBytesPerVertex(size_t num_constraints);

// Returns the least PartitionOptions::memory_bytes with which Streaming can partition the graph. More is needed if the
// neighbors of a single node exceed the part of this memory that remains for neighbors (StreamRows::Build).
uint64_t LeastStreamingMemory(const graph::SourceGraph& graph, const PartitionOptions& options);

// The argument `largest_to_average` of ComputeBuildMemory for partitions with balanced nodes and edges.
inline constexpr double kBalancedLargestToAverage = 1.05;

// Returns the memory in bytes that is needed to build the partitions one after another: the layout, the assignment,
// the largest partition, which is `largest_to_average` times as large as the average, and a fixed part for code, stacks
// and buffers.
uint64_t ComputeBuildMemory(const graph::SourceGraph& graph, uint32_t num_partitions, double largest_to_average,
                            const BuildOptions& options);

}  // namespace espalier::partition
