// What exclusion leaves of a destination's in-edges. Draws are made among the positions that are kept, so they are
// those of a graph without the excluded edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/graph/ids.h"
#include "services/shard/id_array.h"

namespace espalier::shard {

struct KeptEdges {
  std::vector<uint32_t> positions;    // in the row, ascending
  std::vector<uint32_t> weight_sums;  // [positions] prefix sums of their weights; empty for uniform draws
};

// Edges by local destination and global source, ascending, fewer than 2^32; both outlive this.
class ExcludedEdges {
 public:
  // Those into one destination.
  struct Range {
    uint32_t first = 0, last = 0;
    uint32_t size() const { return last - first; }
  };

  ExcludedEdges(std::span<const LocalNodeId> destinations, std::span<const GlobalNodeId> sources)
      : destinations_(destinations), sources_(sources) {}

  bool empty() const { return destinations_.empty(); }
  Range Into(LocalNodeId destination) const;
  // Ascending.
  std::span<const GlobalNodeId> SourcesIn(Range range) const { return sources_.subspan(range.first, range.size()); }

 private:
  std::span<const LocalNodeId> destinations_;
  std::span<const GlobalNodeId> sources_;
};

// Into `kept`: the positions of the row sources[begin .. begin + degree) that do not hold one of `excluded`
// (ascending). `row_sums`: the row's prefix sums of weights, or empty for uniform draws.
void FindKept(const IdArray& sources, uint64_t begin, uint32_t degree, std::span<const GlobalNodeId> excluded,
              std::span<const uint32_t> row_sums, KeptEdges& kept);

}  // namespace espalier::shard
