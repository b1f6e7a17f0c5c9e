#include "services/server/draw_bounds.h"

#include <algorithm>
#include <string>
#include <vector>

namespace espalier::server {
namespace {

// Larger bounds are capped, so that the products below do not overflow.
constexpr uint64_t kMaxBound = uint64_t{1} << 40;

// Returns an upper bound of one rank's seed nodes: its nodes, or the endpoints of its edges and of their negatives.
uint64_t MaxSeeds(const sampler::EpochPlan& plan, const graph::PartitionBook& book) {
  const uint64_t share = std::min(kMaxBound, plan.batch_size / plan.num_trainers + 1);
  if (plan.links() == nullptr && plan.edges() == nullptr) return share;
  const uint64_t ends = 2 + (plan.links() != nullptr ? 2 * uint64_t{plan.links()->negatives.count} : 0);
  return std::min(book.num_nodes(), share > kMaxBound / ends ? kMaxBound : share * ends);
}

}  // namespace

uint64_t MaxDraws(const messages::StreamPlan& stream, const graph::PartitionBook& book) {
  const bool expands_once = stream.spec.draw.expand == sampler::Expand::kOnce;
  uint64_t nodes = MaxSeeds(stream.plan, book);
  uint64_t new_nodes = nodes;                                      // added by the previous hop
  std::vector<uint64_t> drawn(book.schema().num_edge_types(), 0);  // by edge type, over all hops so far
  uint64_t draws = 0;
  for (size_t layer = stream.spec.layers.size(); layer > 0; --layer) {
    const std::vector<int32_t>& fanouts = stream.spec.layers[layer - 1].fanouts;
    uint64_t sampled = 0, layer_edges = 0;
    for (size_t type = 0; type < fanouts.size() && type < drawn.size(); ++type) {
      if (fanouts[type] <= 0) continue;
      uint64_t edges = std::min(kMaxBound, expands_once ? new_nodes : nodes) *
                       std::min<uint64_t>(static_cast<uint64_t>(fanouts[type]), 1 << 20);
      // Without replacement, a relation contributes each edge at most once. This does not hold for temporal sampling,
      // which expands a node once for each time at which it is used.
      if (!stream.spec.draw.replace && stream.spec.draw.time_column.empty()) {
        edges = std::min(edges, book.num_edges(EdgeTypeId(static_cast<uint16_t>(type))));
      }
      edges = std::min(kMaxBound, edges);
      sampled = std::min(kMaxBound, sampled + edges);
      drawn[type] = std::min(kMaxBound, drawn[type] + edges);
      layer_edges = std::min(kMaxBound, layer_edges + (expands_once ? drawn[type] : edges));
    }
    draws = std::min(kMaxBound, draws + layer_edges);
    nodes = std::min(kMaxBound, nodes + sampled);
    new_nodes = sampled;
  }
  return draws;
}

Status CheckDraws(const messages::StreamPlan& stream, const graph::PartitionBook& book, const ServiceLimits& limits) {
  const uint64_t draws = MaxDraws(stream, book);
  if (draws <= limits.max_draws_per_batch) return Status();
  return ResourceExhausted("a mini-batch of the stream may sample " + std::to_string(draws) + " edges, the limit is " +
                           std::to_string(limits.max_draws_per_batch));
}

}  // namespace espalier::server
