// One relation's draws for many destinations. Nearly all its time is waiting for memory at random places, so it goes
// through the destinations in passes that prefetch: (1) row bounds and original ids, (2) draw positions and prefetch
// what they point at, (3) gather, one chunk of destinations behind.
#pragma once

#include <span>
#include <vector>

#include "services/base/buffer_pool.h"
#include "services/graph/partition.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::shard {

struct HopOptions {
  uint64_t key = 0;  // NeighborKey, LaborKey or WalkKey of the hop and relation
  int32_t fanout = 0;
  bool replace = false;
  sampler::DrawMethod method = sampler::DrawMethod::kNeighbor;
  const uint32_t* weight_sums = nullptr;  // [edges] by row; null: uniform
  bool want_edge_ids = false;
  uint64_t first_edge = 0;                          // global id of the partition's first edge
  bool wide_edge_ids = false;                       // U64 instead of U32
  const Tensor* source_ids = nullptr;               // U32 or U64 [edges] sources' original ids; of kLabor
  const Tensor* edge_times = nullptr;               // integers [edges], ascending in each row; null: no time counts
  std::span<const int64_t> destination_times = {};  // [destinations] where edge_times is not null
  std::span<const uint64_t> walks = {};             // [destinations] streams instead of original ids; empty: those
  // Edges that are not drawn (sampler::RelationQuery::excluded), ascending by (destination, source), of equal length.
  std::span<const LocalNodeId> excluded_destinations = {};
  std::span<const GlobalNodeId> excluded_sources = {};
};

// What a question may still cost, all its relations together.
struct HopBudget {
  uint64_t draws = 0;    // in-edges that may be drawn
  uint64_t lookups = 0;  // in-edges that LABOR looks at to draw a few, or exclusion to find those that remain
};

// Takes what it cost off the budget. InvalidArgument names a destination that the partition does not own;
// ResourceExhausted where the budget is too small.
Result<sampler::PartitionRelationSample> SampleRelation(const graph::InEdges& edges, const Tensor& original_ids,
                                                        std::span<const LocalNodeId> destinations,
                                                        const HopOptions& options, HopBudget& budget,
                                                        BufferPool& buffers);

}  // namespace espalier::shard
