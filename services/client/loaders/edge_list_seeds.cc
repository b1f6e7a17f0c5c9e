// A step is a range of positions of the shuffled or unshuffled list. If a query lists positions within the step, only
// the edges at these positions are returned.
#include "services/client/loaders/edge_list_seeds.h"

#include "services/base/select_rows.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

Result<uint64_t> EdgeListSeeds::Count(NodeTypeId, const std::string&, graph::SplitPartName) {
  return NotFound("a list of edges has no seed nodes");
}

Result<uint64_t> EdgeListSeeds::CountOfEdges(EdgeTypeId type, const std::string&, graph::SplitPartName) {
  if (type != edges_.type) return NotFound("the list has no edges of edge type " + std::to_string(type.value));
  return edges_.size();
}

Result<sampler::GlobalBatch> EdgeListSeeds::SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline) {
  if (query.edge_types.empty()) return NotFound("a list of edges has no seed nodes");
  if (query.edge_types.size() != 1 || query.edge_types.front() != edges_.type) {
    return NotFound("the list has edges of edge type " + std::to_string(edges_.type.value) + " only");
  }
  if (query.batch_size == 0) return InvalidArgument("batch size 0, expected at least 1");
  if (query.want_edge_ids && edges_.ids.size() != edges_.size()) {
    return InvalidArgument("the list of edges has no ids");
  }
  const sampler::SeedOrder order(query, edges_.size());
  const sampler::PositionRange step = sampler::PositionsOfStep(edges_.size(), query.batch_size, query.step);
  RETURN_IF_ERROR(sampler::CheckSeedPositions(query, step.size()));
  const uint64_t num_seeds = query.positions.has_value() ? query.positions->size() : step.size();
  sampler::GlobalBatch batch;
  batch.types.assign(num_seeds, 0);
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < num_seeds; ++i) {
    const uint64_t ordinal = order.OrdinalAt(step.first + (query.positions.has_value() ? (*query.positions)[i] : i));
    indices.push_back(ordinal);
    batch.seeds.push_back(edges_.destinations[ordinal]);
    batch.sources.push_back(edges_.sources[ordinal]);
    if (!edges_.ids.empty()) batch.edge_ids.push_back(edges_.ids[ordinal]);
  }
  if (!query.edge_column.empty()) {
    ASSIGN_OR_RETURN(batch.rows, GatherRows(query.edge_column, indices, batch.edge_ids, deadline));
  }
  return batch;
}

Result<Tensor> EdgeListSeeds::GatherRows(const std::string& column, std::span<const uint64_t> indices,
                                         std::span<const GlobalEdgeId> ids, Deadline deadline) {
  const auto listed = edges_.rows.find(column);
  if (listed != edges_.rows.end()) return SelectRows(listed->second, indices);
  if (ids.size() == indices.size()) return graph_.GatherEdgeRows(edges_.type, column, ids, deadline);
  return InvalidArgument("the list of edges has neither ids nor rows of the edge column '" + column + "'");
}

Result<std::vector<GlobalNodeId>> EdgeListSeeds::ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                             Deadline deadline) {
  return graph_.ToGlobalIds(type, nodes, deadline);
}

}  // namespace espalier::client
