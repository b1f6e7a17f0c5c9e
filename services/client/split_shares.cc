#include "services/client/split_shares.h"

#include <algorithm>

namespace espalier::client {

sampler::PositionRange EvenStretch(uint64_t total, uint32_t num_ranks, uint32_t rank) {
  const uint64_t size = total / num_ranks, remainder = total % num_ranks;
  const uint64_t first = rank * size + std::min<uint64_t>(rank, remainder);
  return {first, first + size + (rank < remainder ? 1 : 0)};
}

uint32_t TurnsByOwner::RankOf(PartitionId owner) {
  const auto num_ranks = static_cast<uint32_t>(sizes_.size()), num_partitions = static_cast<uint32_t>(seen_.size());
  uint64_t rank = owner.value % num_ranks;
  if (num_ranks > num_partitions) {
    const uint64_t takers = (num_ranks - 1 - owner.value) / num_partitions + 1;
    rank = owner.value + seen_[owner.value] % takers * num_partitions;
  }
  ++seen_[owner.value];
  ++sizes_[rank];
  return static_cast<uint32_t>(rank);
}

uint64_t TurnsByOwner::largest() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

}  // namespace espalier::client
