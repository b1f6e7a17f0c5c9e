// A step is a range of positions of the shuffled or unshuffled list. Positions after the last node have no seed. A rank
// that has fewer nodes than another rank has such positions, so its last batches are short or empty.
#include "services/client/loaders/node_list_seeds.h"

#include <algorithm>

#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

Result<uint64_t> NodeListSeeds::Count(NodeTypeId type, const std::string&, graph::SplitPartName) {
  if (type != type_) return NotFound("the list has no seeds of node type " + std::to_string(type.value));
  return count_;
}

Result<uint64_t> NodeListSeeds::CountOfEdges(EdgeTypeId, const std::string&, graph::SplitPartName) {
  return NotFound("a list of nodes has no seed edges");
}

Result<sampler::GlobalBatch> NodeListSeeds::SeedsOfStep(const sampler::SeedQuery& query, Deadline) {
  if (!query.edge_types.empty()) return NotFound("a list of nodes has no seed edges");
  if (query.node_type != type_)
    return NotFound("the list has no seeds of node type " + std::to_string(query.node_type.value));
  if (query.batch_size == 0) return InvalidArgument("batch size 0, expected at least 1");
  const sampler::SeedOrder order(query, nodes_.size());
  const sampler::PositionRange step = sampler::PositionsOfStep(count_, query.batch_size, query.step);
  sampler::GlobalBatch batch;
  const uint64_t last = std::min<uint64_t>(step.last, nodes_.size());
  for (uint64_t position = step.first; position < last; ++position) {
    batch.seeds.push_back(nodes_[order.OrdinalAt(position)]);
  }
  return batch;
}

Result<std::vector<GlobalNodeId>> NodeListSeeds::ToGlobalIds(NodeTypeId, std::span<const OriginalNodeId>, Deadline) {
  return Unimplemented("a list of nodes has no original ids");
}

}  // namespace espalier::client
