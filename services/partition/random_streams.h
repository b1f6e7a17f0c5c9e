// The random streams of partition algorithms under RandomPurpose::kPartitioning: never renumber, only add.
#pragma once

#include "services/base/random_purpose.h"

namespace espalier::partition {

enum class RandomStream : uint32_t {
  kRandomOrder = 1,     // Random: the order in which the nodes of a type are assigned
  kStreamingOrder = 2,  // Streaming: the order in which nodes are visited
  kMetisSeed = 3,       // METIS, Multilevel: METIS' 31-bit seed
  kClusterOrder = 4,    // Multilevel: the order in which vertices are clustered, by level
  kRefineOrder = 5,     // Multilevel: the order in which vertices are moved, by level
};

// Returns the key of a stream. `parts` distinguish keys of one stream, such as the keys of Multilevel's levels.
template <class... Parts>
constexpr uint64_t PartitioningKey(uint64_t seed, RandomStream stream, Parts... parts) {
  return RandomKey(seed, RandomPurpose::kPartitioning, static_cast<uint64_t>(stream), parts...);
}

}  // namespace espalier::partition
