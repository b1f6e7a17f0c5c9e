// Draws the in-edges of many destinations of one relation. Nearly all time is spent waiting for random memory accesses,
// so the kernel goes through the destinations in passes that prefetch: (1) read original ids and the bounds of rows (a
// row: the in-edges of one destination), (2) draw positions and prefetch the entries there, (3) gather the entries.
// Passes 2 and 3 alternate: while positions for a chunk of destinations are drawn, the entries of the previous chunk
// arrive.
#pragma once

#include <span>
#include <vector>

#include "services/base/buffer_pool.h"
#include "services/graph/partition.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::shard {

struct HopOptions {
  uint64_t key = 0;      // NeighborKey, LaborKey or WalkKey (sampling_spec.h)
  int32_t fanout = 0;    // > 0 or sampler::kFullNeighborhood
  bool replace = false;  // draw with replacement
  sampler::DrawMethod method = sampler::DrawMethod::kNeighbor;
  const uint32_t* weight_sums = nullptr;  // [edges] prefix sums of the weights in each row; null: uniform
  bool want_edge_ids = false;
  uint64_t first_edge = 0;                          // global id of the relation's first edge in the partition
  bool wide_edge_ids = false;                       // edge ids are U64 instead of U32
  const Tensor* source_ids = nullptr;               // U32 or U64 [edges] sources' original ids; only for kLabor
  const Tensor* edge_times = nullptr;               // integers [edges], ascending in each row; null: no times
  std::span<const int64_t> destination_times = {};  // [destinations]; not read if edge_times is null
  std::span<const uint64_t> walks = {};             // [destinations] random stream of each; empty: its original id
  // Edges that are not drawn (sampler::RelationQuery::excluded), ascending by (destination, source); both spans have
  // the same length.
  std::span<const LocalNodeId> excluded_destinations = {};
  std::span<const GlobalNodeId> excluded_sources = {};
};

// The remaining budget of a request, shared by all of its relations.
struct HopBudget {
  uint64_t draws = 0;    // in-edges that may be drawn
  uint64_t lookups = 0;  // in-edges that LABOR and exclusion may visit
};

// Returns the drawn in-edges, in memory from `buffers`, and subtracts their cost from the budget. `original_ids` are
// those of all owned nodes of the destinations' type. InvalidArgument names a destination that the partition does not
// own; ResourceExhausted if the budget is too small.
Result<sampler::PartitionRelationSample> SampleRelation(const graph::InEdges& edges, const Tensor& original_ids,
                                                        std::span<const LocalNodeId> destinations,
                                                        const HopOptions& options, HopBudget& budget,
                                                        BufferPool& buffers);

}  // namespace espalier::shard
