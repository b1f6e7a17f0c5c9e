// The neighbours that matter to a node by how often random walks from it come by: PinSAGE (Ying et al., "Graph
// Convolutional Neural Networks for Web-Scale Recommender Systems", KDD 2018, section 3.1). DGL's PinSAGESampler.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::sampler {

struct PinSageOptions {
  // One traversal, from a node of the seeds' type back to one of that type, against the edges' direction
  // (random_walk.h): for users that like items, {item:liked-by:user, user:likes:item} seen from items.
  std::vector<EdgeTypeId> metapath;
  uint32_t num_traversals = 1;         // of a walk, at most; at least 1
  double termination_probability = 0;  // that a walk ends before each traversal but the first; in [0, 1]
  uint32_t num_random_walks = 10;      // of each seed
  uint32_t num_neighbors = 3;          // taken of each seed, at most
  std::string weight_column;           // as in walks
  uint64_t seed = 0;
  uint32_t epoch = 0, step = 0;
};

// Neighbours of seed i: [offsets[i], offsets[i + 1]), the most visited first, of equally visited ones the one with the
// smaller original id. A seed that its own walks come back to is one of its neighbours, as in DGL.
struct PinSageNeighbors {
  std::vector<uint64_t> offsets;  // [seeds + 1]
  std::vector<GlobalNodeId> neighbors;
  std::vector<uint32_t> visits;  // of each neighbour: ends of traversals; the weights of its edge
};

// A pure function of (graph, seed's original id, options). Errors as RandomWalk's: the walks are made whole.
Result<PinSageNeighbors> FindPinSageNeighbors(PartitionedGraph& graph, std::span<const GlobalNodeId> seeds,
                                              const PinSageOptions& options, Deadline deadline);

}  // namespace espalier::sampler
