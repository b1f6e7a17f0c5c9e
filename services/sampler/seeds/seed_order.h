// The order of an epoch's seeds: the positions of a step, and the position of a split's node.
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

// Returns a step's positions among `total`; empty after the epoch's end. Does not overflow for any step. batch_size >
// 0.
PositionRange PositionsOfStep(uint64_t total, uint64_t batch_size, uint32_t step);

// Returns ceil(total / batch_size). batch_size > 0.
uint64_t StepsOfEpoch(uint64_t total, uint64_t batch_size);

// Returns InvalidArgument if a query's node type or edge types do not exist, an edge type is named twice, or options of
// edges are set for nodes.
Status CheckSeedTypes(const SeedQuery& query, const graph::GraphSchema& schema);
// Returns InvalidArgument if the query's positions do not ascend or exceed a step of `num_positions`.
Status CheckSeedPositions(const SeedQuery& query, uint64_t num_positions);

// Returns [types + 1]: the first ordinal of each type's edges, then the total number of edges. NotFound as
// SeedSource::CountOfEdges.
Result<std::vector<uint64_t>> FirstOrdinals(SeedSource& seeds, std::span<const EdgeTypeId> types,
                                            const std::string& split, graph::SplitPartName part);

// The bijection between ordinals (by original id) and positions of one epoch.
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
