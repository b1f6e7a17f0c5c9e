// Finds the edges that a split selects among parallel edges.
#pragma once

#include <cstdint>
#include <span>

#include "services/base/tensor.h"
#include "services/graph/partition.h"

namespace espalier::partition {

// The edges of one part of an edge split whose destinations the partition owns. Each span has k elements, one per edge.
struct SelectedEdges {
  std::span<const uint64_t> sources;       // global IDs
  std::span<const uint32_t> destinations;  // local IDs
  std::span<const uint64_t> edge_ids;      // original IDs of the selected edges
};

// Returns the position of each selected edge in in_edges.indices: U32 or U64 [k]. `original_ids` are the original IDs
// of `in_edges`. If a selected edge has no parallel edge in `in_edges`, or is not in `in_edges` itself (preprocessing
// can drop edges), its position is in_edges.indices.num_rows(), which is past the end and means any edge between these
// nodes. Returns an empty tensor if all positions have this value. Time: O((k + m) log k), where m is the number of
// in-edges of the destinations.
Tensor FindSelectedPositions(const graph::InEdges& in_edges, const Tensor& original_ids, const SelectedEdges& pairs);

}  // namespace espalier::partition
