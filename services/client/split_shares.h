// Which items of a list a rank takes for its own: what NodeSplit and EdgeSplit have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "services/client/dist_graph.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

enum class SplitBy {
  // Shares of equal size, to within one (lower ranks take the remainder): rank r's are the r-th stretch of the list in
  // its order.
  kEven,
  // By the partition that owns the node, or the edge with its destination. With P partitions and W ranks, rank r takes
  // those of the partitions p with p mod W = r; where there are more ranks than partitions, the ranks r with r mod P =
  // p take turns at those of partition p. Sizes differ as the partitions do.
  kLocality,
};

// kEven: the positions of a rank among `total`. num_ranks > 0.
sampler::PositionRange EvenRange(uint64_t total, uint32_t num_ranks, uint32_t rank);

// kLocality: whose the items of a list are, one after the other. Owned by one thread.
class TurnsByOwner {
 public:
  TurnsByOwner(uint32_t num_ranks, uint32_t num_partitions) : seen_(num_partitions), sizes_(num_ranks) {}
  // Of the next item.
  uint32_t RankOf(PartitionId owner);
  // As RankOf of the next so many items of one owner.
  void PassOver(PartitionId owner, uint64_t num_items);
  // False where none of the owner's items is this rank's.
  bool MayTake(uint32_t rank, PartitionId owner) const { return RankAt(owner, rank / seen_.size()) == rank; }
  uint64_t largest() const;  // items of the rank that has most

 private:
  uint64_t NumTakers(PartitionId owner) const;  // ranks that take turns
  // Who takes the owner's item with this number.
  uint32_t RankAt(PartitionId owner, uint64_t item) const;

  std::vector<uint64_t> seen_;   // by partition: items so far
  std::vector<uint64_t> sizes_;  // by rank
};

// A reader of a list that has the items of partition 0 first, then those of partition 1 and so on, each beginning at a
// position that the reader knows: [partitions + 1].
template <class Reader>
concept KnowsPositionsByPartition = requires(const Reader& reader) {
  reader.positions_by_partition();
};

// Hands the items of this rank to keep(item), in the order of the list, and returns how many the rank with most has.
// reader.Read(range, take) calls take(item) for each item at the positions [range.first, range.last) of the list, and
// returns a Status. Where it knows the partitions' positions, it is asked for those of this rank's partitions alone.
template <class Reader, class OwnerOf, class Keep>
Result<uint64_t> TakeShare(const DistGraph& graph, SplitBy by, uint64_t total, Reader& reader, OwnerOf owner_of,
                           Keep keep) {
  const uint32_t num_ranks = graph.world_size(), rank = graph.rank().value;
  if (by == SplitBy::kEven) {
    RETURN_IF_ERROR(reader.Read(EvenRange(total, num_ranks, rank), keep));
    return EvenRange(total, num_ranks, 0).size();
  }
  TurnsByOwner turns(num_ranks, graph.book().num_partitions());
  const auto take = [&](const auto& item) {
    if (turns.RankOf(owner_of(item)) == rank) keep(item);
  };
  if constexpr (KnowsPositionsByPartition<Reader>) {
    const auto& first = reader.positions_by_partition();
    for (uint32_t p = 0; p + 1 < first.size(); ++p) {
      const sampler::PositionRange of_partition{first[p], first[p + 1]};
      if (turns.MayTake(rank, PartitionId(p))) {
        RETURN_IF_ERROR(reader.Read(of_partition, take));
      } else {
        turns.PassOver(PartitionId(p), of_partition.size());
      }
    }
  } else {
    RETURN_IF_ERROR(reader.Read({0, total}, take));
  }
  return turns.largest();
}

}  // namespace espalier::client
