// For kLocality with P partitions and W ranks, T ranks take turns with the items of partition p: item number i belongs
// to rank p mod W + (i mod T) * P. If W > P, T is the number of ranks r with r mod P = p; otherwise T is 1.
#include "services/client/splits/split_shares.h"

#include <algorithm>

namespace espalier::client {

sampler::PositionRange ComputeEvenRange(uint64_t total, uint32_t num_ranks, uint32_t rank) {
  const uint64_t size = total / num_ranks, remainder = total % num_ranks;
  const uint64_t first = rank * size + std::min<uint64_t>(rank, remainder);
  return {first, first + size + (rank < remainder ? 1 : 0)};
}

uint64_t LocalityAssigner::NumRanksOf(PartitionId owner) const {
  return sizes_.size() > num_assigned_.size() ? (sizes_.size() - 1 - owner.value) / num_assigned_.size() + 1 : 1;
}

uint32_t LocalityAssigner::RankAt(PartitionId owner, uint64_t item) const {
  return static_cast<uint32_t>(owner.value % sizes_.size() + item % NumRanksOf(owner) * num_assigned_.size());
}

uint32_t LocalityAssigner::AssignNext(PartitionId owner) {
  const uint32_t rank = RankAt(owner, num_assigned_[owner.value]++);
  ++sizes_[rank];
  return rank;
}

void LocalityAssigner::AssignMany(PartitionId owner, uint64_t num_items) {
  const uint64_t num_ranks = NumRanksOf(owner);
  for (uint64_t k = 0; k < num_ranks; ++k) {
    sizes_[RankAt(owner, num_assigned_[owner.value] + k)] +=
        num_items / num_ranks + (k < num_items % num_ranks ? 1 : 0);
  }
  num_assigned_[owner.value] += num_items;
}

uint64_t LocalityAssigner::largest() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

}  // namespace espalier::client
