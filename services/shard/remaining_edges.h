// The in-edges of a destination that remain after exclusion. Draws are made among these in-edges. Uniform draws equal
// those from a graph without the excluded edges, and so do weighted draws if the row's weights are used unchanged
// (QuantizeRow in weighted_draws.h). If the weights are scaled, draws may differ, because the scale also depends on the
// weights of the excluded edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/graph/ids.h"
#include "services/shard/id_array.h"

namespace espalier::shard {

struct RemainingEdges {
  std::vector<uint32_t> positions;    // in the destination's row of in-edges, ascending
  std::vector<uint32_t> weight_sums;  // [positions] prefix sums of their weights; empty for uniform draws
};

// The edges of one relation that a request excludes, ascending by (local destination, global source), fewer than 2^32.
// Both spans outlive this.
class ExcludedEdges {
 public:
  // The excluded edges into one destination: [first, last).
  struct Range {
    uint32_t first = 0, last = 0;
    uint32_t size() const { return last - first; }
  };

  ExcludedEdges(std::span<const LocalNodeId> destinations, std::span<const GlobalNodeId> sources)
      : destinations_(destinations), sources_(sources) {}

  bool empty() const { return destinations_.empty(); }
  Range FindRange(LocalNodeId destination) const;
  // Returns the sources of the edges in `range`, ascending.
  std::span<const GlobalNodeId> SourcesIn(Range range) const { return sources_.subspan(range.first, range.size()); }

 private:
  std::span<const LocalNodeId> destinations_;
  std::span<const GlobalNodeId> sources_;
};

// Sets `remaining` to the positions of the row sources[begin, begin + degree) whose source is not in `excluded`, which
// is ascending. `row_sums` has the row's prefix sums of weights, or is empty for uniform draws.
void FindRemaining(const IdArray& sources, uint64_t begin, uint32_t degree, std::span<const GlobalNodeId> excluded,
                   std::span<const uint32_t> row_sums, RemainingEdges& remaining);

}  // namespace espalier::shard
