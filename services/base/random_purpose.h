// The registry of random streams. Each kind of random draw that results depend on has a purpose of its own, so that its
// keys differ from those of all other kinds. The numbers determine the results of a seed: never renumber, only add.
// A list after "by" names coordinates of a draw: parts of the key (RandomKey) or of the Philox counter.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/base/hash.h"

namespace espalier {

enum class RandomPurpose : uint32_t {
  kSeedOrder = 1,       // order of the seed nodes or seed edges of an epoch
  kNeighbors = 2,       // drawn in-edges
  kInitialization = 3,  // model parameters
  kDropout = 4,         // masks of hidden rows, by (epoch, step, layer, node type, original id, index in the row)
  kPartitioning = 5,    // tie-breaks of partition algorithms, and the algorithm Random
  kGenerator = 6,       // generated graphs
  kLabor = 7,           // a source node's variate, by (epoch, step, hop, node type); layer dependency omits the hop
  kWalks = 8,           // steps of random walks, by (epoch, step, step of the walk, relation)
  kWalkRestarts = 9,    // whether a walk ends, by (epoch, step, step of the walk)
  kTensorRows = 10,     // first values of distributed tensors by (row space, stream, original id, index in the row)
  kInputDropout = 11,   // masks of a model's input rows, by (epoch, step, node type, original id, index in the row)
  // Masks of attention weights, by (epoch, step, layer, relation, original ids of both endpoints, head).
  kAttentionDropout = 12,
  kUserModel = 13,  // torch's own generator while a user's module runs, by (epoch, step, layer, rank)
  // Negative edges, by (epoch, step, drawn endpoint: destination or source). Two more keys serve as random seeds:
  // by (epoch) for the order in which NegativeKind::kInDegree takes the training edges, and by (LinkPlan::owner) for
  // the negatives of a rank that has edges of its own.
  kNegatives = 14,
  kCandidates = 15,  // nodes that an edge's destination is ranked among, by (part of the split, edge's index in it)
};

// Returns the key of a purpose's random stream for a job's seed. `parts` are coordinates (epoch, step, layer, ...).
template <class... Parts>
constexpr uint64_t RandomKey(uint64_t seed, RandomPurpose purpose, Parts... parts) {
  uint64_t key = HashCombine(seed, static_cast<uint64_t>(purpose));
  ((key = HashCombine(key, static_cast<uint64_t>(parts))), ...);
  return key;
}

}  // namespace espalier
