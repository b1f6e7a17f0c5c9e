// Assignment of the items of a list to ranks; shared by NodeSplit and EdgeSplit.
#pragma once

#include <cstdint>
#include <vector>

#include "services/client/graph/dist_graph.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

// How items are assigned to ranks.
enum class SplitBy {
  // Contiguous shares in the order of the list. Their sizes differ by at most one; lower ranks get the larger shares.
  kEven,
  // By the partition that owns the node, or the destination of the edge. With P partitions and W ranks: if W <= P, rank
  // r gets the items of the partitions p with p mod W = r; if W > P, the items of partition p are assigned in turn to
  // the ranks r with r mod P = p. The sizes of shares depend on the sizes of the partitions.
  kLocality,
};

// Returns the positions of `rank`, out of `total` positions, for kEven. num_ranks > 0.
sampler::PositionRange ComputeEvenRange(uint64_t total, uint32_t num_ranks, uint32_t rank);

// Assigns the items of a list to ranks for kLocality, in the order of the list. For one thread.
class LocalityAssigner {
 public:
  LocalityAssigner(uint32_t num_ranks, uint32_t num_partitions) : num_assigned_(num_partitions), sizes_(num_ranks) {}
  // Assigns the next item, which `owner` owns, and returns its rank.
  uint32_t AssignNext(PartitionId owner);
  // Assigns the next `num_items` items, all of one owner; equivalent to `num_items` calls of AssignNext.
  void AssignMany(PartitionId owner, uint64_t num_items);
  // Returns whether `rank` gets items of `owner`, provided that the owner has enough items.
  bool HasItems(uint32_t rank, PartitionId owner) const { return RankAt(owner, rank / num_assigned_.size()) == rank; }
  // Returns the number of items of the rank with the most items so far.
  uint64_t largest() const;

 private:
  uint64_t NumRanksOf(PartitionId owner) const;  // number of ranks that share the items of an owner
  // Returns the rank that gets the owner's item number `item`.
  uint32_t RankAt(PartitionId owner, uint64_t item) const;

  std::vector<uint64_t> num_assigned_;  // by partition: number of items assigned so far
  std::vector<uint64_t> sizes_;         // by rank: number of items assigned so far
};

// A reader of a list in partition order: items of partition 0, then of partition 1, and so on. positions_by_partition()
// returns [partitions + 1] positions: that of the first item of each partition, then the length of the list.
template <class Reader>
concept HasPositionsByPartition = requires(const Reader& reader) {
  reader.positions_by_partition();
};

// Calls keep(item) for the items of this rank, in the order of the list, and returns the size of the largest share.
// reader.Read(range, take) must call take(item) for each item at the positions [range.first, range.last) of the list
// and return a Status. owner_of(item) returns the partition that owns an item. For kLocality the entire list is read
// or, if the reader satisfies HasPositionsByPartition, only the partitions with items of this rank.
template <class Reader, class OwnerOf, class Keep>
Result<uint64_t> TakeShare(const DistGraph& graph, SplitBy by, uint64_t total, Reader& reader, OwnerOf owner_of,
                           Keep keep) {
  const uint32_t num_ranks = graph.world_size(), rank = graph.rank().value;
  if (by == SplitBy::kEven) {
    RETURN_IF_ERROR(reader.Read(ComputeEvenRange(total, num_ranks, rank), keep));
    return ComputeEvenRange(total, num_ranks, 0).size();
  }
  LocalityAssigner assigner(num_ranks, graph.book().num_partitions());
  const auto take = [&](const auto& item) {
    if (assigner.AssignNext(owner_of(item)) == rank) keep(item);
  };
  if constexpr (HasPositionsByPartition<Reader>) {
    const auto& first = reader.positions_by_partition();
    for (uint32_t p = 0; p + 1 < first.size(); ++p) {
      const sampler::PositionRange of_partition{first[p], first[p + 1]};
      if (assigner.HasItems(rank, PartitionId(p))) {
        RETURN_IF_ERROR(reader.Read(of_partition, take));
      } else {
        assigner.AssignMany(PartitionId(p), of_partition.size());
      }
    }
  } else {
    RETURN_IF_ERROR(reader.Read({0, total}, take));
  }
  return assigner.largest();
}

}  // namespace espalier::client
