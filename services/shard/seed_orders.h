// A partition's own seeds in the order of an epoch, kept for the epochs in use: a step then costs as much as its own
// seeds, not as the split.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/graph/partition.h"
#include "services/sampler/seed_source.h"

namespace espalier::shard {

// Thread-safe.
class SeedOrders {
 public:
  // An entry of a list (an owned node or edge) and its position in the epoch.
  struct OrderedSeed {
    uint64_t position;
    uint32_t list;
    uint64_t entry;
  };
  // The ordinals of a split's part: of one node type, or of one of the query's edge types.
  struct OrdinalList {
    uint64_t first;  // of the list among those of all lists
    const Tensor* ordinals;
  };
  using Order = std::shared_ptr<const std::vector<OrderedSeed>>;  // ascending positions

  // The order of parts that passed CheckPartition, by the ordinals of their entries: one list, or one for each of the
  // query's edge types. Keeps the last few asked for.
  Order Get(const sampler::SeedQuery& query, uint64_t total, std::span<const OrdinalList> lists)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Key {
    std::vector<EdgeTypeId> edge_types;
    uint16_t node_type;  // without edge types
    std::string split;
    graph::SplitPartName part;
    bool shuffle;
    uint64_t seed;
    uint32_t epoch;
    friend bool operator==(const Key&, const Key&) = default;
  };

  Mutex mutex_;
  std::deque<std::pair<Key, Order>> recent_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace espalier::shard
