// The memory that partitioning needs, from the headers of a graph alone.
#pragma once

#include <cstdint>

#include "services/graph/source_graph.h"
#include "services/partition/build_partition.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// Returns the memory in bytes that does not depend on the graph: code, stacks and buffers.
uint64_t FixedStreamingBytes();

// Returns the bytes per vertex that Streaming keeps in memory while it builds rows (stream_rows.h), with
// `num_constraints` constraints.
uint64_t StreamingBytesPerVertex(size_t num_constraints);

// Returns the least PartitionOptions::memory_bytes with which Streaming cuts the graph, in bytes. More is needed if the
// neighbors of a single node exceed the part of this memory that remains for neighbors (StreamRows::Build).
uint64_t LeastStreamingMemory(const graph::SourceGraph& graph, const PartitionOptions& options);

// The largest partition divided by the average, if nodes and edges are balanced.
inline constexpr double kBalanced = 1.05;

// Returns the memory in bytes that building the partitions one after another needs: the layout, the assignment and the
// largest partition, which is `largest_to_average` times as large as the average.
uint64_t BuildMemory(const graph::SourceGraph& graph, uint32_t num_partitions, double largest_to_average,
                     const BuildOptions& options);

}  // namespace espalier::partition
