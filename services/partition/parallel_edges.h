// Finds the edges that a split selects among parallel edges.
#pragma once

#include <cstdint>
#include <span>

#include "services/base/tensor.h"
#include "services/graph/partition.h"

namespace espalier::partition {

// The pairs of a part of a split whose destinations are owned nodes; each array is [k].
struct MeantEdges {
  std::span<const uint64_t> sources;       // global ids
  std::span<const uint32_t> destinations;  // local ids
  std::span<const uint64_t> edge_ids;      // original IDs of the selected edges
};

// Returns the positions of the edges in `in_edges`, whose original IDs are `original_ids`: U32 or U64 [k]. The position
// of a pair is the number of in-edges if its ends have at most one edge or if its edge has been dropped, because its
// ends are sufficient then. Returns an empty tensor if this holds for every pair. Visits the in-edges of each distinct
// destination once.
Tensor PositionsOfMeantEdges(const graph::InEdges& in_edges, const Tensor& original_ids, const MeantEdges& pairs);

}  // namespace espalier::partition
