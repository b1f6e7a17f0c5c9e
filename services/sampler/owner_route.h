// Sorts ids by the partition that owns them, so that each partition is asked once; remembers the way back.
#pragma once

#include <span>
#include <vector>

#include "services/graph/partition_book.h"

namespace espalier::sampler {

struct OwnerRoute {
  std::vector<uint32_t> owner;                   // [ids]; empty where one partition owns everything
  std::vector<std::vector<LocalNodeId>> locals;  // [partitions] each in the order of the ids
};

// All ids below first.back(); `first` as PartitionBook::NodeFirst.
OwnerRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalNodeId> nodes);

// Which range of `first` an id lies in.
uint32_t RangeOf(std::span<const uint64_t> first, uint64_t id);

}  // namespace espalier::sampler
