#include "services/sampler/walks/pinsage_neighbors.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "services/sampler/walks/random_walk.h"

namespace espalier::sampler {
namespace {

constexpr size_t kMaxSteps = 10'000;  // per walk; each step takes one request per partition

Status CheckTraversal(const PinSageOptions& options, const graph::GraphSchema& schema) {
  if (options.metapath.empty() || options.num_traversals == 0 || options.num_random_walks == 0) {
    return InvalidArgument("PinSAGE with a metapath of " + std::to_string(options.metapath.size()) + " relations, " +
                           std::to_string(options.num_traversals) + " traversals and " +
                           std::to_string(options.num_random_walks) + " walks, expected at least 1 of each");
  }
  if (options.num_traversals > kMaxSteps / options.metapath.size()) {
    return ResourceExhausted(std::to_string(options.num_traversals) + " traversals of " +
                             std::to_string(options.metapath.size()) + " steps; a walk has at most " +
                             std::to_string(kMaxSteps) + " steps");
  }
  for (const EdgeTypeId type : options.metapath) RETURN_IF_ERROR(schema.CheckEdgeType(type));
  if (schema.SourceOf(options.metapath.back()) == schema.DestinationOf(options.metapath.front())) return {};
  return InvalidArgument("a traversal has to end at a node of the type at which it begins, '" +
                         schema.NodeTypeName(schema.DestinationOf(options.metapath.front())) + "'");
}

WalkOptions ToWalkOptions(const PinSageOptions& options) {
  WalkOptions walks{.walks_per_node = options.num_random_walks,
                    .weight_column = options.weight_column,
                    .seed = options.seed,
                    .epoch = options.epoch,
                    .step = options.step};
  for (uint32_t traversal = 0; traversal < options.num_traversals; ++traversal) {
    for (size_t i = 0; i < options.metapath.size(); ++i) {
      walks.metapath.push_back(options.metapath[i]);
      walks.restart_probabilities.push_back(i == 0 && traversal > 0 ? options.termination_probability : 0);
    }
  }
  return walks;
}

struct Visited {
  GlobalNodeId node;
  uint32_t visits;
};

// Returns the nodes at which traversals of one seed's walks end, with the number of traversals that end there, in the
// order of the first visit. A traversal has `length` steps.
std::vector<Visited> CountVisits(const RandomWalks& walks, size_t first_walk, size_t num_walks, size_t length) {
  std::vector<Visited> visited;
  absl::flat_hash_map<uint64_t, size_t> place_of;
  for (size_t walk = first_walk; walk < first_walk + num_walks; ++walk) {
    const std::span<const GlobalNodeId> trace = walks.Trace(walk);
    for (size_t end = length; end < trace.size() && trace[end] != kNoNode; end += length) {
      const auto [place, is_new] = place_of.try_emplace(trace[end].value, visited.size());
      if (is_new) visited.push_back({trace[end], 0});
      ++visited[place->second].visits;
    }
  }
  return visited;
}

}  // namespace

Result<PinSageNeighbors> FindPinSageNeighbors(PartitionedGraph& graph, std::span<const GlobalNodeId> seeds,
                                              const PinSageOptions& options, Deadline deadline) {
  const graph::GraphSchema& schema = graph.book().schema();
  RETURN_IF_ERROR(CheckTraversal(options, schema));
  ASSIGN_OR_RETURN(const RandomWalks walks, RandomWalk(graph, seeds, ToWalkOptions(options), deadline));
  std::vector<std::vector<Visited>> visited;  // by seed
  std::vector<GlobalNodeId> nodes;            // over all seeds
  for (size_t i = 0; i < seeds.size(); ++i) {
    visited.push_back(
        CountVisits(walks, i * options.num_random_walks, options.num_random_walks, options.metapath.size()));
    for (const Visited& one : visited.back()) nodes.push_back(one.node);
  }
  // Ties are broken by original ids, because global ids depend on the partitioning.
  const NodeTypeId type = schema.DestinationOf(options.metapath.front());
  ASSIGN_OR_RETURN(const Tensor rows, graph.GatherRows(type, kOriginalIdColumn, nodes, deadline));
  const std::span<const uint64_t> original_ids = rows.values<uint64_t>();

  PinSageNeighbors found{.offsets = {0}};
  size_t first = 0;
  for (const std::vector<Visited>& of_seed : visited) {
    std::vector<size_t> order(of_seed.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const size_t taken = std::min<size_t>(order.size(), options.num_neighbors);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(taken), order.end(),
                      [&](size_t a, size_t b) {
                        if (of_seed[a].visits != of_seed[b].visits) return of_seed[a].visits > of_seed[b].visits;
                        return original_ids[first + a] < original_ids[first + b];
                      });
    for (size_t i = 0; i < taken; ++i) {
      found.neighbors.push_back(of_seed[order[i]].node);
      found.visits.push_back(of_seed[order[i]].visits);
    }
    found.offsets.push_back(found.neighbors.size());
    first += of_seed.size();
  }
  return found;
}

}  // namespace espalier::sampler
