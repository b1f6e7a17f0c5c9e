#include "services/server/draw_bounds.h"

#include <algorithm>
#include <string>
#include <vector>

namespace espalier::server {
namespace {

constexpr uint64_t kMaxBound = uint64_t{1}
                               << 40;  // larger bounds are capped, so that the products below do not overflow

// Returns the seeds of one rank: nodes, or the endpoints of its edges and, for links, of their negatives.
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
  uint64_t new_nodes = nodes;                                      // found by the previous hop
  std::vector<uint64_t> drawn(book.schema().num_edge_types(), 0);  // by edge type, over all hops so far
  uint64_t draws = 0;
  for (size_t layer = stream.spec.layers.size(); layer > 0; --layer) {
    const std::vector<int32_t>& fanouts = stream.spec.layers[layer - 1].fanouts;
    uint64_t found = 0, held = 0;
    for (size_t type = 0; type < fanouts.size() && type < drawn.size(); ++type) {
      if (fanouts[type] <= 0) continue;
      uint64_t edges = std::min(kMaxBound, expands_once ? new_nodes : nodes) *
                       std::min<uint64_t>(static_cast<uint64_t>(fanouts[type]), 1 << 20);
      // (Temporal sampling expands a node once per time.)
      if (!stream.spec.draw.replace && stream.spec.draw.time_column.empty()) {
        edges = std::min(edges, book.num_edges(EdgeTypeId(static_cast<uint16_t>(type))));
      }
      edges = std::min(kMaxBound, edges);
      found = std::min(kMaxBound, found + edges);
      drawn[type] = std::min(kMaxBound, drawn[type] + edges);
      held = std::min(kMaxBound, held + (expands_once ? drawn[type] : edges));
    }
    draws = std::min(kMaxBound, draws + held);
    nodes = std::min(kMaxBound, nodes + found);
    new_nodes = found;
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
