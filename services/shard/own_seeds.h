// Finds which of a partition's own seeds a step takes. Nothing is kept between steps: the step's positions give
// ordinals, which are looked up in the ascending lists of the partition's file.
#pragma once

#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::shard {

// The ordinals that a partition owns of a split's part: of one node type, or of one of the query's edge types.
struct OrdinalList {
  uint64_t first;          // of this list among the ordinals of all lists
  const Tensor* ordinals;  // U64, ascending, relative to `first`, below the next list
};

// An entry of a list (an owned node or edge) and its position in the epoch.
struct OwnSeed {
  uint64_t position;
  uint32_t list;
  uint64_t entry;
  friend bool operator==(const OwnSeed&, const OwnSeed&) = default;
};

// Returns the own seeds at the positions of `range`, or at those among them that the query names, ascending. `lists`
// has one list, or one for each of the query's edge types in order, of parts that passed CheckPartition. `total` counts
// the ordinals of all lists in all partitions. Time: O(range * log(own seeds)) or O(own seeds), whichever is less.
std::vector<OwnSeed> OwnSeedsAt(const sampler::SeedQuery& query, uint64_t total, std::span<const OrdinalList> lists,
                                sampler::PositionRange range);

}  // namespace espalier::shard
