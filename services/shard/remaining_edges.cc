#include "services/shard/remaining_edges.h"

#include <algorithm>

namespace espalier::shard {

ExcludedEdges::Range ExcludedEdges::FindRange(LocalNodeId destination) const {
  const auto [first, last] = std::equal_range(destinations_.begin(), destinations_.end(), destination);
  return {static_cast<uint32_t>(first - destinations_.begin()), static_cast<uint32_t>(last - destinations_.begin())};
}

void FindRemaining(const IdArray& sources, uint64_t begin, uint32_t degree, std::span<const GlobalNodeId> excluded,
                   std::span<const uint32_t> row_sums, RemainingEdges& remaining) {
  remaining.positions.clear();
  remaining.weight_sums.clear();
  uint32_t sum = 0;
  for (uint32_t position = 0; position < degree; ++position) {
    if (std::binary_search(excluded.begin(), excluded.end(), GlobalNodeId(sources[begin + position]))) continue;
    remaining.positions.push_back(position);
    if (row_sums.empty()) continue;
    sum += row_sums[position] - (position > 0 ? row_sums[position - 1] : 0);
    remaining.weight_sums.push_back(sum);
  }
}

}  // namespace espalier::shard
