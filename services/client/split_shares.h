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
sampler::PositionRange EvenStretch(uint64_t total, uint32_t num_ranks, uint32_t rank);

// kLocality: whose the items of a list are, one after the other. Owned by one thread.
class TurnsByOwner {
 public:
  TurnsByOwner(uint32_t num_ranks, uint32_t num_partitions) : seen_(num_partitions), sizes_(num_ranks) {}
  // Of the next item.
  uint32_t RankOf(PartitionId owner);
  uint64_t largest() const;  // items of the rank that has most

 private:
  std::vector<uint64_t> seen_;   // by partition: items so far
  std::vector<uint64_t> sizes_;  // by rank
};

// Hands the items of this rank to keep(item), in the order of the list, and returns how many the rank with most has.
// reader.Read(range, take) calls take(item) for each item at the positions [range.first, range.last) of the list, and
// returns a Status.
template <class Reader, class OwnerOf, class Keep>
Result<uint64_t> TakeShare(const DistGraph& graph, SplitBy by, uint64_t total, Reader& reader, OwnerOf owner_of,
                           Keep keep) {
  const uint32_t num_ranks = graph.world_size(), rank = graph.rank().value;
  if (by == SplitBy::kEven) {
    RETURN_IF_ERROR(reader.Read(EvenStretch(total, num_ranks, rank), keep));
    return EvenStretch(total, num_ranks, 0).size();
  }
  TurnsByOwner turns(num_ranks, graph.book().num_partitions());
  const auto take = [&](const auto& item) {
    if (turns.RankOf(owner_of(item)) == rank) keep(item);
  };
  RETURN_IF_ERROR(reader.Read({0, total}, take));
  return turns.largest();
}

}  // namespace espalier::client
