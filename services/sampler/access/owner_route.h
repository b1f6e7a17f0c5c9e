// Groups ids by the partition that owns them, so that each partition gets one request, and records the original order.
#pragma once

#include <span>
#include <vector>

#include "services/graph/partition_book.h"
#include "services/sampler/access/row_ids.h"

namespace espalier::sampler {

template <class LocalId>
struct OwnerRouteOf {
  std::vector<uint32_t> owner;               // [ids]; empty where one partition owns everything
  std::vector<std::vector<LocalId>> locals;  // [partitions] each in the order of the ids
};
using OwnerRoute = OwnerRouteOf<LocalNodeId>;
using RowRoute = OwnerRouteOf<LocalRowId>;

// Returns the route of ids below first.back(); `first` as in PartitionBook::NodeFirst.
OwnerRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalNodeId> nodes);
RowRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalRowId> rows);

// Finds the range of `first` that contains an id.
uint32_t FindRange(std::span<const uint64_t> first, uint64_t id);

// Returns [num_ranges + 1]: ids [0, n) in equal ranges, range p of P being [n p / P, n (p + 1) / P).
std::vector<uint64_t> EqualRanges(uint64_t num_ids, uint64_t num_ranges);

}  // namespace espalier::sampler
