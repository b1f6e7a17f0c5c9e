// The specification of sampling: fan-outs, keys of the random streams, and the position of a hop in a run.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "services/base/random_purpose.h"
#include "services/graph/ids.h"
#include "services/sampler/spec/draw_spec.h"

namespace espalier::sampler {

inline constexpr int32_t kFullNeighborhood = -1;  // as a fan-out: all in-edges that may be drawn

// The fan-outs of one model layer. fanouts[edge type]: in-edges drawn per destination node, or kFullNeighborhood; 0
// omits the relation.
struct LayerSpec {
  std::vector<int32_t> fanouts;  // by EdgeTypeId
};

struct SamplingSpec {
  // layers[0] is the model's first layer, farthest from the seeds (DGL's order).
  std::vector<LayerSpec> layers;
  DrawSpec draw;
  // Temporal sampling: the node column with the times of the seeds; not needed if the caller passes the times. A node
  // that is reached from a seed has the seed's time, and no in-edge later than that time is drawn. Must be empty if
  // draw.time_column is empty.
  std::string seed_time_column;
  uint64_t seed = 0;
  // Limit for the edges of one mini-batch over all hops: sampling a larger one returns ResourceExhausted. Does not
  // influence which edges are drawn.
  uint64_t max_edges = std::numeric_limits<uint64_t>::max();
};

// The place of a draw in a run. Hops are numbered from the seeds outward: 0, 1, ...
struct HopPosition {
  uint32_t epoch = 0;
  uint32_t step = 0;
  uint32_t hop = 0;
};

// Returns the Philox key of all draws of one (run seed, epoch, step, hop, relation). The high half of the counter is
// the expanded node's original id; the low half numbers Philox's blocks of four 32-bit words that the node's draw
// reads. Key and counters determine every drawn edge, so every process draws the same edges.
// relation_hash = Hash64("source:relation:destination").
constexpr uint64_t NeighborKey(uint64_t seed, HopPosition at, uint64_t relation_hash) {
  return RandomKey(seed, RandomPurpose::kNeighbors, at.epoch, at.step, at.hop, relation_hash);
}

// Returns the Philox key of kLabor's variates. The high half of the counter is the source's original id, the low half
// is 0. The variate consists of the first two 32-bit words of the block, the high word first. All relations with the
// same source node type share the key. source_type_hash = Hash64(name of the source's node type).
constexpr uint64_t LaborKey(uint64_t seed, HopPosition at, bool layer_dependency, uint64_t source_type_hash) {
  constexpr uint64_t kAllHops = uint64_t{1} << 32;  // above every hop
  return RandomKey(seed, RandomPurpose::kLabor, at.epoch, at.step, layer_dependency ? kAllHops : uint64_t{at.hop},
                   source_type_hash);
}

// Returns the Philox key of one step of random walks; at.hop is the index of that step in its walk. The counter is that
// of NeighborKey with the walk's number (NumberWalks in random_walk.cc) in place of the node's original id.
constexpr uint64_t WalkKey(uint64_t seed, HopPosition at, uint64_t relation_hash) {
  return RandomKey(seed, RandomPurpose::kWalks, at.epoch, at.step, at.hop, relation_hash);
}

}  // namespace espalier::sampler
