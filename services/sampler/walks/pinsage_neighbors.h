// The most relevant neighbors of a node, ranked by how often random walks from it visit them: PinSAGE (Ying et al.,
// "Graph Convolutional Neural Networks for Web-Scale Recommender Systems", KDD 2018, section 3.1), as in DGL's
// PinSAGESampler.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::sampler {

struct PinSageOptions {
  // The relations of one traversal, which leads from a node of the seeds' type back to a node of that type, against the
  // direction of edges (random_walk.h). Example for item seeds: {user:likes:item, item:liked-by:user}.
  std::vector<EdgeTypeId> metapath;
  uint32_t num_traversals = 1;         // maximum per walk; not 0
  double termination_probability = 0;  // of ending before each traversal except the first; in [0, 1]
  uint32_t num_random_walks = 10;      // per seed
  uint32_t num_neighbors = 3;          // maximum per seed
  std::string weight_column;           // as in WalkOptions
  uint64_t seed = 0;
  uint32_t epoch = 0, step = 0;
};

// Neighbors of seed i: [offsets[i], offsets[i + 1]), most visited first, ties by the smaller original id. A seed at
// which its own traversals end is ranked like any other node, as in DGL.
struct PinSageNeighbors {
  std::vector<uint64_t> offsets;  // [seeds + 1]
  std::vector<GlobalNodeId> neighbors;
  std::vector<uint32_t> visits;  // per neighbor: number of traversals that end there; its weight in PinSAGE
};

// Returns the neighbors of each seed, a pure function of (graph, the seed's original id, options). Errors: as
// RandomWalk, which limits the nodes of all walks together.
Result<PinSageNeighbors> FindPinSageNeighbors(PartitionedGraph& graph, std::span<const GlobalNodeId> seeds,
                                              const PinSageOptions& options, Deadline deadline);

}  // namespace espalier::sampler
