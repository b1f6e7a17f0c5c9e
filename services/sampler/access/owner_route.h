// Groups ids by the partition that owns them, so that each partition gets one request, and records which partition owns
// which id, so that the responses can be put back into the order of the ids.
//
// In this file `first` has one entry for each range and one more: range p is [first[p], first[p + 1]), and first[0] is
// 0. The range of a partition contains the ids that it owns (PartitionBook::NodeFirst).
#pragma once

#include <span>
#include <vector>

#include "services/graph/partition_book.h"
#include "services/sampler/access/row_ids.h"

namespace espalier::sampler {

template <class LocalId>
struct OwnerRouteOf {
  std::vector<uint32_t> owner;               // [ids] the owning partition; empty if there is only one partition
  std::vector<std::vector<LocalId>> locals;  // [partitions] local ids of those ids that the partition owns, in order
};
using OwnerRoute = OwnerRouteOf<LocalNodeId>;
using RowRoute = OwnerRouteOf<LocalRowId>;

// Returns the owners and local ids of global ids, all below first.back().
OwnerRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalNodeId> nodes);
RowRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalRowId> rows);

// Returns the index of the range that contains `id`, which is below first.back().
uint32_t FindRange(std::span<const uint64_t> first, uint64_t id);

// Returns [num_ranges + 1]: divides [0, num_ids) into ranges whose sizes differ by at most one. Range p begins at
// floor(num_ids * p / num_ranges).
std::vector<uint64_t> EqualRanges(uint64_t num_ids, uint64_t num_ranges);

}  // namespace espalier::sampler
