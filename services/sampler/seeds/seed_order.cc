#include "services/sampler/seeds/seed_order.h"

#include <algorithm>
#include <functional>

namespace espalier::sampler {

PositionRange PositionsOfStep(uint64_t total, uint64_t batch_size, uint32_t step) {
  uint64_t first = 0;
  if (__builtin_mul_overflow(batch_size, uint64_t{step}, &first) || first >= total) return {total, total};
  return {first, first + std::min(batch_size, total - first)};
}

uint64_t StepsOfEpoch(uint64_t total, uint64_t batch_size) {
  return total / batch_size + (total % batch_size != 0 ? 1 : 0);
}

Status CheckSeedTypes(const SeedQuery& query, const graph::GraphSchema& schema) {
  if (!query.edge_column.empty() && query.edge_types.size() != 1) {
    return InvalidArgument("rows of the edge column '" + query.edge_column +
                           "' are returned only with edges of one type, but the query has " +
                           std::to_string(query.edge_types.size()) + " edge types");
  }
  if (query.want_edge_ids && query.edge_types.size() != 1) {
    return InvalidArgument("edge ids are returned only with edges of one type, but the query has " +
                           std::to_string(query.edge_types.size()) + " edge types");
  }
  if (query.positions.has_value() && query.edge_types.empty()) {
    return InvalidArgument("positions of a step can be requested only for edges, not for nodes");
  }
  if (query.edge_types.empty()) return schema.CheckNodeType(query.node_type);
  std::vector<bool> named(schema.num_edge_types());
  for (const EdgeTypeId type : query.edge_types) {
    RETURN_IF_ERROR(schema.CheckEdgeType(type));
    const std::string name = "edge type '" + schema.EdgeType(type).Name() + "'";
    if (named[type.value]) return InvalidArgument(name + " is named twice");
    named[type.value] = true;
  }
  return {};
}

Status CheckSeedPositions(const SeedQuery& query, uint64_t num_positions) {
  if (!query.positions.has_value() || query.positions->empty()) return {};
  const std::vector<uint32_t>& positions = *query.positions;
  const auto falling = std::adjacent_find(positions.begin(), positions.end(), std::greater_equal<>());
  if (falling != positions.end()) {
    return InvalidArgument("requested positions are not ascending: " + std::to_string(*falling) + " precedes " +
                           std::to_string(*(falling + 1)));
  }
  if (positions.back() < num_positions) return {};
  return InvalidArgument("position " + std::to_string(positions.back()) + " is out of range [0, " +
                         std::to_string(num_positions) + ") of the step");
}

Result<std::vector<uint64_t>> FirstOrdinals(SeedSource& seeds, std::span<const EdgeTypeId> types,
                                            const std::string& split, graph::SplitPartName part) {
  std::vector<uint64_t> first = {0};
  for (const EdgeTypeId type : types) {
    ASSIGN_OR_RETURN(const uint64_t count, seeds.CountOfEdges(type, split, part));
    first.push_back(first.back() + count);
  }
  return first;
}

}  // namespace espalier::sampler
