// Random walks over a partitioned graph. A step of a walk goes from a node to the source of one of its in-edges, that
// is, against the direction of the edge, because in-edges are stored with their node. To walk along a relation, use its
// reverse relation. All walks advance together: one request per partition and step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::sampler {

// The entries of a trace after the end of its walk.
inline constexpr GlobalNodeId kNoNode = GlobalNodeId(~uint64_t{0});

struct WalkOptions {
  // The relation of each step; a step's source type is the next one's destination type.
  std::vector<EdgeTypeId> metapath;
  uint32_t walks_per_node = 1;  // at least 1
  // [metapath] the probability that a walk ends before the step; in [0, 1]. Empty: walks end only at nodes without an
  // in-edge to follow. (DGL's restart_prob.)
  std::vector<double> restart_probabilities;
  std::string weight_column;  // edge column: in-edges are chosen in proportion to it; empty: uniformly
  uint64_t seed = 0;
  uint32_t epoch = 0, step = 0;  // of training, not of the walk; different values give different walks
};

// Walk w of start i is row i * walks_per_node + w of `nodes`.
struct RandomWalks {
  size_t num_walks = 0;
  size_t length = 0;                // steps
  std::vector<GlobalNodeId> nodes;  // [num_walks, length + 1] traces: the start first, kNoNode after the walk's end

  std::span<const GlobalNodeId> Trace(size_t walk) const {
    return std::span(nodes).subspan(walk * (length + 1), length + 1);
  }
};

// Returns the walks, a pure function of (graph, start's original id, options). They depend neither on the partitioning
// nor on the other starts: a repeated start gets the same walks again. Starts are nodes of the first step's destination
// type. InvalidArgument for options that are invalid or do not fit the graph; ResourceExhausted if all traces together
// have more than 2^28 entries.
Result<RandomWalks> RandomWalk(PartitionedGraph& graph, std::span<const GlobalNodeId> starts,
                               const WalkOptions& options, Deadline deadline);

}  // namespace espalier::sampler
