// A partition's own seeds in the order of an epoch, kept for the epochs in use: a step then costs as much as its own
// seeds, not as the split.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/graph/partition.h"
#include "services/sampler/seed_source.h"

namespace espalier::shard {

// Thread-safe.
class SeedOrders {
 public:
  // An entry of the split's part (an owned node or edge) and its position in the epoch.
  struct OrderedSeed {
    uint64_t position;
    uint64_t entry;
  };
  using Order = std::shared_ptr<const std::vector<OrderedSeed>>;  // ascending positions

  // The order of a part that passed CheckPartition, by the ordinals of its entries. Keeps the last few asked for.
  Order Get(const sampler::SeedQuery& query, uint64_t total, const Tensor& ordinals) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Key {
    bool of_edges;
    uint16_t type;
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
