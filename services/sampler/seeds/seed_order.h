// The order of an epoch's seeds: which positions a step takes, and where a node of a split stands in it.
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

// A step's positions among `total`; empty past the epoch's end. No step overflows. batch_size > 0.
PositionRange PositionsOfStep(uint64_t total, uint64_t batch_size, uint32_t step);

// ceil(total / batch_size). batch_size > 0.
uint64_t StepsOfEpoch(uint64_t total, uint64_t batch_size);

// InvalidArgument where a query's node type, or edge types, do not exist, an edge type is named twice, or nodes are
// asked for what edges have.
Status CheckSeedTypes(const SeedQuery& query, const graph::GraphSchema& schema);
// InvalidArgument where the query names positions that do not ascend, or are not of a step of `num_positions`.
Status CheckSeedPositions(const SeedQuery& query, uint64_t num_positions);

// Where the edges of each of the types begin among those of all, and behind the last their number: [types + 1].
// NotFound as SeedSource::CountOfEdges.
Result<std::vector<uint64_t>> FirstOrdinals(SeedSource& seeds, std::span<const EdgeTypeId> types,
                                            const std::string& split, graph::SplitPartName part);

// Ordinals (by original id) <-> positions of one epoch.
class SeedOrder {
 public:
  SeedOrder(const SeedQuery& query, uint64_t total)
      : shuffle_(query.shuffle), permutation_(SeedOrderKey(query.seed, query.epoch), total) {}

  // Both below `total`.
  uint64_t OrdinalAt(uint64_t position) const { return shuffle_ ? permutation_.At(position) : position; }
  uint64_t Position(uint64_t ordinal) const { return shuffle_ ? permutation_.Position(ordinal) : ordinal; }

 private:
  bool shuffle_;
  Permutation permutation_;
};

}  // namespace espalier::sampler
