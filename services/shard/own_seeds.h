// Finds the seeds of a step that one partition owns. No state is kept between steps: either the ordinal of each
// position of the step is looked up in the partition's ascending lists, or the position of each entry of the lists is
// computed.
#pragma once

#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::shard {

// The ordinals of the partition's own nodes or edges in one part of a split, for one node type or edge type.
struct OrdinalList {
  uint64_t first;          // sum of the sizes of all earlier lists, each over all partitions
  const Tensor* ordinals;  // U64, ascending, relative to `first`
};

// An entry of a list (an owned node or edge) and its position in the epoch.
struct OwnSeed {
  uint64_t position;
  uint32_t list;   // index of the list
  uint64_t entry;  // index in the list
  friend bool operator==(const OwnSeed&, const OwnSeed&) = default;
};

// Returns the partition's own seeds at the positions in `range`, in ascending order of position. If the query lists
// positions, other positions of the range are skipped. `lists` has one list for a node type, or one for each edge type
// of the query, in its order; the split has passed CheckPartition. `total` is the number of ordinals of all lists over
// all partitions. Time: O(range * log(entries)) or O(entries), whichever is less; entries: those of all `lists`.
std::vector<OwnSeed> FindOwnSeeds(const sampler::SeedQuery& query, uint64_t total, std::span<const OrdinalList> lists,
                                  sampler::PositionRange range);

}  // namespace espalier::shard
