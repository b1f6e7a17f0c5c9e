// Which of a partition's own seeds a step takes. Nothing is kept from step to step: a step's positions give ordinals,
// which are looked up in the ascending lists that the partition's file has.
#pragma once

#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::shard {

// The ordinals of a split's part that a partition owns: of one node type, or of one of the query's edge types.
struct OrdinalList {
  uint64_t first;          // of the list among those of all lists
  const Tensor* ordinals;  // U64, ascending, below the next list's `first`, less this one's
};

// An entry of a list (an owned node or edge) and its position in the epoch.
struct OwnSeed {
  uint64_t position;
  uint32_t list;
  uint64_t entry;
  friend bool operator==(const OwnSeed&, const OwnSeed&) = default;
};

// Those at the positions of `range`, or at those of them that the query names, ascending. `lists`: one, or one for each
// of the query's edge types in their order, of parts that passed CheckPartition; `total`: ordinals of all lists in all
// partitions. Time: range * log(own seeds), or the own seeds, whichever is less.
std::vector<OwnSeed> OwnSeedsAt(const sampler::SeedQuery& query, uint64_t total, std::span<const OrdinalList> lists,
                                sampler::PositionRange range);

}  // namespace espalier::shard
