// Assigns the items of a list to ranks; shared by NodeSplit and EdgeSplit.
#pragma once

#include <cstdint>
#include <vector>

#include "services/client/dist_graph.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

enum class SplitBy {
  // Shares of equal size, up to one item (lower ranks take the remainder): rank r has the r-th contiguous range of the
  // list.
  kEven,
  // By the partition that owns the node, or the destination of the edge. With P partitions and W ranks, rank r has the
  // items
  // of the partitions p with p mod W = r; with more ranks than partitions, the items of partition p are dealt
  // round-robin to
  // the ranks r with r mod P = p. The sizes of shares differ like those of partitions.
  kLocality,
};

// Returns the positions of a rank among `total` for kEven. num_ranks > 0.
sampler::PositionRange EvenRange(uint64_t total, uint32_t num_ranks, uint32_t rank);

// Assigns the items of a list for kLocality, in order. Owned by one thread.
class TurnsByOwner {
 public:
  TurnsByOwner(uint32_t num_ranks, uint32_t num_partitions) : seen_(num_partitions), sizes_(num_ranks) {}
  // Returns the rank of the next item.
  uint32_t RankOf(PartitionId owner);
  // Advances by the next `num_items` items of one owner.
  void PassOver(PartitionId owner, uint64_t num_items);
  // Returns false if no item of the owner belongs to `rank`.
  bool MayTake(uint32_t rank, PartitionId owner) const { return RankAt(owner, rank / seen_.size()) == rank; }
  uint64_t largest() const;  // number of items of the rank with the most

 private:
  uint64_t NumTakers(PartitionId owner) const;  // ranks that share the items
  // Returns the rank of the owner's item with this number.
  uint32_t RankAt(PartitionId owner, uint64_t item) const;

  std::vector<uint64_t> seen_;   // by partition: items so far
  std::vector<uint64_t> sizes_;  // by rank
};

// A reader of a list that is ordered by partition and knows the position of the first item of each: [partitions + 1].
template <class Reader>
concept KnowsPositionsByPartition = requires(const Reader& reader) {
  reader.positions_by_partition();
};

// Calls keep(item) for the items of this rank, in the order of the list, and returns the number of items of the rank
// with the most. reader.Read(range, take) calls take(item) for each item at positions [range.first, range.last) of the
// list and returns a Status. If the reader knows the positions of partitions, only the partitions of this rank are
// read.
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
