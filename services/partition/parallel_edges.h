// Which of several edges between the same ends a split means.
#pragma once

#include <cstdint>
#include <span>

#include "services/base/tensor.h"
#include "services/graph/partition.h"

namespace espalier::partition {

// Pairs of a part of a split that end in owned nodes, all [k].
struct MeantEdges {
  std::span<const uint64_t> sources;       // global ids
  std::span<const uint32_t> destinations;  // local ids
  std::span<const uint64_t> edge_ids;      // original ids of the edges that are meant
};

// U32 or U64 [k]: where the edges stand in `in_edges`, whose original ids are `original_ids`. The number of in-edges
// for a pair that is one edge or none, or whose edge has been dropped: its ends say all there is to say. Empty where
// that is so of every pair. Each distinct destination's in-edges are walked once.
Tensor PositionsOfMeantEdges(const graph::InEdges& in_edges, const Tensor& original_ids, const MeantEdges& pairs);

}  // namespace espalier::partition
