// All walks advance together. A step first ends each walk with the step's restart probability (one random word per
// walk and step). The remaining walks form one hop query with fan-out 1, whose random streams are the walk numbers
// (NumberWalks) instead of original ids. Walks whose node has no in-edge to follow end there. Traces are rows of one
// array.
#include "services/sampler/walks/random_walk.h"

#include <algorithm>
#include <limits>

#include "services/sampler/draws/draw_words.h"

namespace espalier::sampler {
namespace {

Status CheckMetapath(const std::vector<EdgeTypeId>& metapath, const graph::GraphSchema& schema) {
  if (metapath.empty()) return InvalidArgument("a random walk needs at least one step");
  for (size_t i = 0; i < metapath.size(); ++i) {
    RETURN_IF_ERROR(schema.CheckEdgeType(metapath[i]).While("step " + std::to_string(i)));
    if (i == 0 || schema.SourceOf(metapath[i - 1]) == schema.DestinationOf(metapath[i])) continue;
    return InvalidArgument("step " + std::to_string(i) + " follows '" + schema.EdgeType(metapath[i]).Name() +
                           "' from destination to source, but the step before ends at a node of type '" +
                           schema.NodeTypeName(schema.SourceOf(metapath[i - 1])) + "'");
  }
  return {};
}

// Traces are stored completely, 8 bytes per node.
Status CheckTraces(size_t num_starts, const WalkOptions& options) {
  constexpr uint64_t kMaxNodes = uint64_t{1} << 28;
  const uint64_t nodes_each = options.metapath.size() + 1;
  const bool fits = num_starts == 0 || options.walks_per_node <= kMaxNodes / nodes_each / num_starts;
  if (fits) return {};
  return ResourceExhausted(std::to_string(options.walks_per_node) + " walks of " +
                           std::to_string(options.metapath.size()) + " steps from each of " +
                           std::to_string(num_starts) + " starts; one call keeps at most " + std::to_string(kMaxNodes) +
                           " nodes: use fewer starts per call");
}

Status CheckOptions(const WalkOptions& options, const graph::GraphSchema& schema) {
  RETURN_IF_ERROR(CheckMetapath(options.metapath, schema));
  if (options.walks_per_node == 0) return InvalidArgument("0 walks from each start, expected at least one walk");
  const std::vector<double>& chances = options.restart_probabilities;
  if (!chances.empty() && chances.size() != options.metapath.size()) {
    return InvalidArgument(std::to_string(chances.size()) + " restart probabilities for " +
                           std::to_string(options.metapath.size()) + " steps");
  }
  for (const double chance : chances) {
    if (!(chance >= 0 && chance <= 1)) {
      return InvalidArgument("restart probability " + std::to_string(chance) + ", expected one in [0, 1]");
    }
  }
  return {};
}

// Returns the number of each walk, which selects its random words: (original id of the start) * walks_per_node + walk,
// the same in every partitioning.
Result<std::vector<uint64_t>> NumberWalks(PartitionedGraph& graph, NodeTypeId type,
                                          std::span<const GlobalNodeId> starts, uint32_t walks_per_node,
                                          Deadline deadline) {
  ASSIGN_OR_RETURN(const Tensor ids, graph.GatherRows(type, kOriginalIdColumn, starts, deadline));
  std::vector<uint64_t> numbers;
  numbers.reserve(starts.size() * walks_per_node);
  for (const uint64_t id : ids.values<uint64_t>()) {
    if (id >= std::numeric_limits<uint64_t>::max() / walks_per_node) {
      return ResourceExhausted("walks of node " + std::to_string(id) + " cannot be numbered with 64 bits");
    }
    for (uint32_t walk = 0; walk < walks_per_node; ++walk) numbers.push_back(id * walks_per_node + walk);
  }
  return numbers;
}

class Walkers {
 public:
  Walkers(PartitionedGraph& graph, const WalkOptions& options, std::vector<uint64_t> numbers)
      : graph_(graph), options_(options), numbers_(std::move(numbers)) {}

  Result<RandomWalks> Run(std::span<const GlobalNodeId> starts, Deadline deadline) {
    walks_.num_walks = numbers_.size();
    walks_.length = options_.metapath.size();
    walks_.nodes.assign(walks_.num_walks * (walks_.length + 1), kNoNode);
    for (size_t walk = 0; walk < walks_.num_walks; ++walk) {
      NodeAt(walk, 0) = starts[walk / options_.walks_per_node];
      active_walks_.push_back(walk);
    }
    for (uint32_t step = 0; step < walks_.length && !active_walks_.empty(); ++step) {
      RETURN_IF_ERROR(TakeStep(step, deadline));
    }
    return std::move(walks_);
  }

 private:
  GlobalNodeId& NodeAt(size_t walk, size_t step) { return walks_.nodes[walk * (walks_.length + 1) + step]; }

  // Ends walks at random, with the restart probability of the step.
  void EndWalks(uint32_t step) {
    if (options_.restart_probabilities.empty()) return;
    const uint64_t key = RandomKey(options_.seed, RandomPurpose::kWalkRestarts, options_.epoch, options_.step, step);
    // The product is exact, because 2^32 is a power of two; the cast rounds it down.
    const auto bound = static_cast<uint64_t>(options_.restart_probabilities[step] * 0x1p32);
    std::erase_if(active_walks_, [&](size_t walk) { return DrawWord(key, numbers_[walk], 0) < bound; });
  }

  Status TakeStep(uint32_t step, Deadline deadline) {
    EndWalks(step);
    std::vector<GlobalNodeId> current_nodes;
    std::vector<uint64_t> numbers;
    for (const size_t walk : active_walks_) {
      current_nodes.push_back(NodeAt(walk, step));
      numbers.push_back(numbers_[walk]);
    }
    const HopQuery query{.relations = {{.edge_type = options_.metapath[step],
                                        .fanout = 1,
                                        .destinations = current_nodes,
                                        .walks = numbers}},
                         .seed = options_.seed,
                         .at = {.epoch = options_.epoch, .step = options_.step, .hop = step},
                         .draw = {.replace = true, .weight_column = options_.weight_column}};
    ASSIGN_OR_RETURN(const HopSample hop, graph_.SampleInEdges(query, deadline));
    const RelationSample& drawn = hop.relations[0];
    std::vector<size_t> still_active;
    for (size_t i = 0; i < active_walks_.size(); ++i) {
      if (drawn.offsets[i] == drawn.offsets[i + 1]) continue;
      NodeAt(active_walks_[i], step + 1) = drawn.sources[drawn.offsets[i]];
      still_active.push_back(active_walks_[i]);
    }
    active_walks_ = std::move(still_active);
    return {};
  }

  PartitionedGraph& graph_;
  const WalkOptions& options_;
  const std::vector<uint64_t> numbers_;  // by walk
  std::vector<size_t> active_walks_;     // walks that have not ended
  RandomWalks walks_;
};

}  // namespace

Result<RandomWalks> RandomWalk(PartitionedGraph& graph, std::span<const GlobalNodeId> starts,
                               const WalkOptions& options, Deadline deadline) {
  RETURN_IF_ERROR(CheckOptions(options, graph.book().schema()));
  RETURN_IF_ERROR(CheckTraces(starts.size(), options));
  const NodeTypeId type = graph.book().schema().DestinationOf(options.metapath[0]);
  ASSIGN_OR_RETURN(std::vector<uint64_t> numbers, NumberWalks(graph, type, starts, options.walks_per_node, deadline));
  return Walkers(graph, options, std::move(numbers)).Run(starts, deadline);
}

}  // namespace espalier::sampler
