// One relation's draws for many destinations. Nearly all its time is waiting for memory at random places, so it goes
// through the destinations in passes that prefetch: (1) row bounds and original ids, (2) draw positions and prefetch
// what they point at, (3) gather, one chunk of destinations behind.
#pragma once

#include <span>
#include <vector>

#include "services/graph/partition.h"
#include "services/sampler/buffer_pool.h"
#include "services/sampler/partition_access.h"

namespace espalier::shard {

struct HopOptions {
  uint64_t key = 0;  // NeighborKey of the hop and relation
  int32_t fanout = 0;
  bool replace = false;
  const uint32_t* weight_sums = nullptr;  // [edges] by row; null: uniform
  bool want_edge_ids = false;
  uint64_t first_edge = 0;     // global id of the partition's first edge
  bool wide_edge_ids = false;  // U64 instead of U32
  uint64_t max_draws = 0;
};

// InvalidArgument names a destination that the partition does not own; ResourceExhausted where more than max_draws
// in-edges may be drawn.
Result<sampler::PartitionRelationSample> SampleRelation(const graph::InEdges& edges, const Tensor& original_ids,
                                                        std::span<const LocalNodeId> destinations,
                                                        const HopOptions& options, sampler::BufferPool& buffers);

}  // namespace espalier::shard
