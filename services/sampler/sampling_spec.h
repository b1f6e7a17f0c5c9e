// What to sample, as values: fan-outs, keys of the random streams, and how a step's work is named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/random_purpose.h"
#include "services/graph/ids.h"

namespace espalier::sampler {

inline constexpr int32_t kFullNeighborhood = -1;

// One model layer's sampling. fanouts[edge type]: in-edges drawn per destination node; 0 leaves the relation
// out, kFullNeighborhood takes all.
struct LayerSpec {
  std::vector<int32_t> fanouts;  // by EdgeTypeId
};

struct SamplingSpec {
  // layers[0] is the model's first layer, farthest from the seeds (DGL's order).
  std::vector<LayerSpec> layers;
  bool replace = false;
  // Edge column with non-negative weights (F32/F64/integers); empty: uniform.
  std::string weight_column;
  uint64_t seed = 0;
};

// Where in a run a draw happens. `layer` counts from the seeds outwards as hop 0, 1, ...
struct HopPosition {
  uint32_t epoch = 0;
  uint32_t step = 0;
  uint32_t hop = 0;
};

// The Philox key of all draws of one (run seed, hop, relation). With the expanded node's original id as the
// counter's high word and the draw's block number as its low word it fixes every drawn edge, whoever draws it
// (architecture: sampling is a pure function).
// relation_hash = Hash64("source:relation:destination").
constexpr uint64_t NeighborKey(uint64_t seed, HopPosition at, uint64_t relation_hash) {
  return RandomKey(seed, RandomPurpose::kNeighbors, at.epoch, at.step, at.hop, relation_hash);
}

}  // namespace espalier::sampler
