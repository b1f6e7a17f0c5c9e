// The order of an epoch's seeds. A seed's ordinal is its index in the split's part (training, validation or test), in
// which nodes are ordered by original id and edges as the user gave them, one edge type after another. An epoch's
// permutation maps ordinals to positions, and a step has consecutive positions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/permutation.h"
#include "services/sampler/access/seed_source.h"

namespace espalier::sampler {

// Positions [first, last) of an epoch's order.
struct PositionRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t size() const { return last - first; }
};

// Returns the positions of a step in an epoch of `total` seeds; empty after the epoch's end. Does not overflow for any
// step. batch_size > 0.
PositionRange PositionsOfStep(uint64_t total, uint64_t batch_size, uint32_t step);

// Returns ceil(total / batch_size). batch_size > 0.
uint64_t StepsOfEpoch(uint64_t total, uint64_t batch_size);

// Returns InvalidArgument if a query's node type or edge types do not exist, an edge type is named twice, a query for
// nodes sets an option for edges, or a query for edges of several types sets an option for edges of one type.
Status CheckSeedTypes(const SeedQuery& query, const graph::GraphSchema& schema);
// Returns InvalidArgument if the query's positions do not ascend or are not below `num_positions`, the size of the
// step.
Status CheckSeedPositions(const SeedQuery& query, uint64_t num_positions);

// Returns [types + 1]: the first ordinal of each type's edges, then the total number of edges. NotFound: as for
// SeedSource::CountOfEdges.
Result<std::vector<uint64_t>> FirstOrdinals(SeedSource& seeds, std::span<const EdgeTypeId> types,
                                            const std::string& split, graph::SplitPartName part);

// The bijection between the ordinals and the positions of one epoch.
class SeedOrder {
 public:
  SeedOrder(const SeedQuery& query, uint64_t total)
      : shuffle_(query.shuffle), permutation_(SeedOrderKey(query.seed, query.epoch), total) {}

  // Arguments and results are below `total`.
  uint64_t OrdinalAt(uint64_t position) const { return shuffle_ ? permutation_.At(position) : position; }
  uint64_t Position(uint64_t ordinal) const { return shuffle_ ? permutation_.Position(ordinal) : ordinal; }

 private:
  bool shuffle_;
  Permutation permutation_;
};

}  // namespace espalier::sampler
