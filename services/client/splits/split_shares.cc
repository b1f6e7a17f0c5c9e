// For kLocality with P partitions and W ranks, item number i of partition p goes to rank p mod W + (i mod T) * P, where
// T is the number of ranks r with r mod P = p (1 if W <= P). T is never 0, so every item has a rank.
#include "services/client/splits/split_shares.h"

#include <algorithm>

namespace espalier::client {

sampler::PositionRange EvenRange(uint64_t total, uint32_t num_ranks, uint32_t rank) {
  const uint64_t size = total / num_ranks, remainder = total % num_ranks;
  const uint64_t first = rank * size + std::min<uint64_t>(rank, remainder);
  return {first, first + size + (rank < remainder ? 1 : 0)};
}

uint64_t TurnsByOwner::NumRanksOf(PartitionId owner) const {
  return sizes_.size() > seen_.size() ? (sizes_.size() - 1 - owner.value) / seen_.size() + 1 : 1;
}

uint32_t TurnsByOwner::RankAt(PartitionId owner, uint64_t item) const {
  return static_cast<uint32_t>(owner.value % sizes_.size() + item % NumRanksOf(owner) * seen_.size());
}

uint32_t TurnsByOwner::RankFor(PartitionId owner) {
  const uint32_t rank = RankAt(owner, seen_[owner.value]++);
  ++sizes_[rank];
  return rank;
}

void TurnsByOwner::PassOver(PartitionId owner, uint64_t num_items) {
  const uint64_t num_takers = NumRanksOf(owner);
  for (uint64_t k = 0; k < num_takers; ++k) {
    sizes_[RankAt(owner, seen_[owner.value] + k)] += num_items / num_takers + (k < num_items % num_takers ? 1 : 0);
  }
  seen_[owner.value] += num_items;
}

uint64_t TurnsByOwner::largest() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

}  // namespace espalier::client
