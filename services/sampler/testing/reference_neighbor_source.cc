#include "services/sampler/testing/reference_neighbor_source.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "services/base/philox.h"

namespace espalier::sampler::testing {
namespace {

// The k-th unit of weight among the positions not in `without`.
uint32_t PositionOfUnit(const std::vector<uint32_t>& weights, const std::set<uint32_t>& without, uint64_t unit) {
  for (uint32_t position = 0; position < weights.size(); ++position) {
    if (without.contains(position)) continue;
    if (unit < weights[position]) return position;
    unit -= weights[position];
  }
  ESPALIER_CHECK(false) << "unit past the row's weight";
  return 0;
}

uint32_t SumWeights(const std::vector<uint32_t>& weights, const std::set<uint32_t>& without) {
  uint32_t total = 0;
  for (uint32_t position = 0; position < weights.size(); ++position) {
    if (!without.contains(position)) total += weights[position];
  }
  return total;
}

std::vector<uint32_t> UniformPositions(PhiloxStream words, uint32_t degree, uint32_t count, bool replace) {
  std::vector<uint32_t> drawn;
  if (replace) {
    for (uint32_t i = 0; i < count && degree > 0; ++i) drawn.push_back(words.NextBelow(degree));
  } else {
    std::set<uint32_t> chosen;
    for (uint32_t last = degree - std::min(degree, count); last < degree; ++last) {
      const uint32_t candidate = words.NextBelow(last + 1);
      chosen.insert(chosen.contains(candidate) ? last : candidate);
    }
    drawn.assign(chosen.begin(), chosen.end());
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

std::vector<uint32_t> WeightedPositions(PhiloxStream words, const std::vector<uint32_t>& weights, uint32_t count,
                                        bool replace) {
  const uint32_t total = SumWeights(weights, {});
  if (total == 0) return {};
  std::vector<uint32_t> with_replacement;
  for (uint32_t i = 0; i < count; ++i) with_replacement.push_back(PositionOfUnit(weights, {}, words.NextBelow(total)));
  std::sort(with_replacement.begin(), with_replacement.end());
  if (replace) return with_replacement;
  std::set<uint32_t> chosen(with_replacement.begin(), with_replacement.end());
  while (chosen.size() < count && SumWeights(weights, chosen) > 0) {
    chosen.insert(PositionOfUnit(weights, chosen, words.NextBelow(SumWeights(weights, chosen))));
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<uint32_t> PositionsWithWeight(const std::vector<uint32_t>& weights) {
  std::vector<uint32_t> positions;
  for (uint32_t position = 0; position < weights.size(); ++position) {
    if (weights[position] > 0) positions.push_back(position);
  }
  return positions;
}

// Returns a * b as (high, low) 64-bit words, by schoolbook multiplication: the tested code uses another method.
std::pair<uint64_t, uint64_t> Product(uint64_t a, uint32_t b) {
  const uint64_t low = (a & 0xffffffffu) * b, high = (a >> 32) * b + (low >> 32);
  return {high >> 32, high << 32 | (low & 0xffffffffu)};
}

}  // namespace

std::vector<uint32_t> ReferenceLaborPositions(uint64_t key, const std::vector<uint64_t>& source_ids,
                                              const std::vector<uint32_t>& weights, uint32_t count) {
  const auto variate = [&](uint32_t position) {
    PhiloxStream words(key, source_ids[position]);
    const uint64_t high = words.Next();
    return high << 32 | words.Next();
  };
  std::vector<uint32_t> positions = PositionsWithWeight(weights);
  std::stable_sort(positions.begin(), positions.end(), [&](uint32_t a, uint32_t b) {
    return Product(variate(a), weights[b]) < Product(variate(b), weights[a]);
  });
  positions.resize(std::min<size_t>(count, positions.size()));
  std::sort(positions.begin(), positions.end());
  return positions;
}

std::vector<uint32_t> ReferenceLastPositions(const std::vector<uint32_t>& weights, uint32_t count) {
  std::vector<uint32_t> positions = PositionsWithWeight(weights);
  if (positions.size() > count) positions.erase(positions.begin(), positions.end() - count);
  return positions;
}

std::vector<uint32_t> ReferencePositions(uint64_t key, uint64_t original_id, const std::vector<uint32_t>& weights,
                                         int32_t fanout, bool replace, bool weighted) {
  const auto degree = static_cast<uint32_t>(weights.size());
  const bool all = fanout == kFullNeighborhood || (!replace && degree <= static_cast<uint32_t>(fanout));
  if (all) {
    std::vector<uint32_t> positions;
    for (uint32_t position = 0; position < degree; ++position) {
      if (!weighted || weights[position] > 0) positions.push_back(position);
    }
    return positions;
  }
  const PhiloxStream words(key, original_id);
  const auto count = static_cast<uint32_t>(fanout);
  return weighted ? WeightedPositions(words, weights, count, replace) : UniformPositions(words, degree, count, replace);
}

ReferenceNeighborSource::ReferenceNeighborSource(graph::GraphSchema schema, std::vector<uint64_t> num_nodes,
                                                 std::vector<ReferenceEdges> edges) {
  std::vector<std::vector<uint64_t>> node_first, edge_first;
  for (const uint64_t count : num_nodes) node_first.push_back({0, count});
  for (ReferenceEdges& of_type : edges) {
    edge_first.push_back({0, of_type.size()});
    std::stable_sort(of_type.begin(), of_type.end(), [](const ReferenceEdge& a, const ReferenceEdge& b) {
      return std::tuple(a.destination, a.time, a.source) < std::tuple(b.destination, b.time, b.source);
    });
    std::map<uint64_t, Row>& rows = rows_.emplace_back();
    for (size_t i = 0; i < of_type.size(); ++i) {
      Row& row = rows[of_type[i].destination];
      if (row.edges.empty()) row.first_edge = i;
      row.edges.push_back(of_type[i]);
    }
  }
  Result<graph::PartitionBook> book = graph::PartitionBook::Make(std::move(schema), node_first, edge_first);
  ESPALIER_CHECK(book.ok()) << book.status().ToString();
  book_ = *std::move(book);
}

ReferenceEdges ReferenceNeighborSource::FindInEdges(EdgeTypeId type, uint64_t node) const {
  const auto row = rows_[type.value].find(node);
  return row == rows_[type.value].end() ? ReferenceEdges() : row->second.edges;
}

Result<Tensor> ReferenceNeighborSource::InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes, Deadline) {
  std::vector<uint32_t> degrees;
  for (const GlobalNodeId node : nodes) degrees.push_back(static_cast<uint32_t>(FindInEdges(type, node.value).size()));
  return Tensor::FromVector(std::move(degrees));
}

Result<HopSample> ReferenceNeighborSource::SampleInEdges(const HopQuery& query, Deadline) {
  HopSample hop;
  for (const RelationQuery& relation : query.relations) {
    const std::string name = book_.schema().EdgeType(relation.edge_type).Name();
    const std::string source_type = book_.schema().EdgeType(relation.edge_type).source;
    RelationSample sample{.offsets = {0}};
    for (size_t i = 0; i < relation.destinations.size(); ++i) {
      const uint64_t node = relation.destinations[i].value;
      const auto row = rows_[relation.edge_type.value].find(node);
      if (row != rows_[relation.edge_type.value].end()) {
        std::vector<uint32_t> weights, kept;
        std::vector<uint64_t> source_ids;
        for (uint32_t position = 0; position < row->second.edges.size(); ++position) {
          const ReferenceEdge& edge = row->second.edges[position];
          if (!query.draw.time_column.empty() && edge.time > relation.times[i]) break;
          const EdgeEnds ends{GlobalNodeId(edge.destination), GlobalNodeId(edge.source)};
          if (std::binary_search(relation.excluded.begin(), relation.excluded.end(), ends)) continue;
          weights.push_back(query.draw.weight_column.empty() ? 1 : edge.weight);
          source_ids.push_back(edge.source);
          kept.push_back(position);
        }
        const auto drawn = [&]() -> std::vector<uint32_t> {
          const bool all = relation.fanout == kFullNeighborhood;
          const uint32_t count = all ? ~0u : static_cast<uint32_t>(relation.fanout);
          if (query.draw.method == DrawMethod::kLast) return ReferenceLastPositions(weights, count);
          if (query.draw.method == DrawMethod::kLabor) {
            const uint64_t key = LaborKey(query.seed, query.at, query.draw.layer_dependency, Hash64(source_type));
            if (weights.size() <= count) return PositionsWithWeight(weights);
            return ReferenceLaborPositions(key, source_ids, weights, count);
          }
          const uint64_t key = relation.walks.empty() ? NeighborKey(query.seed, query.at, Hash64(name))
                                                      : WalkKey(query.seed, query.at, Hash64(name));
          return ReferencePositions(key, relation.walks.empty() ? node : relation.walks[i], weights, relation.fanout,
                                    query.draw.replace, !query.draw.weight_column.empty());
        };
        for (const uint32_t among_kept : drawn()) {
          const uint32_t position = kept[among_kept];
          sample.sources.push_back(GlobalNodeId(row->second.edges[position].source));
          if (query.want_edge_ids) sample.edge_ids.push_back(GlobalEdgeId(row->second.first_edge + position));
        }
      }
      sample.offsets.push_back(sample.sources.size());
    }
    hop.relations.push_back(std::move(sample));
  }
  return hop;
}

graph::GraphSchema HomogeneousSchema() {
  Result<graph::GraphSchema> schema = graph::GraphSchema::Make({"node"}, {{"node", "edge", "node"}});
  ESPALIER_CHECK(schema.ok()) << schema.status().ToString();
  return *std::move(schema);
}

}  // namespace espalier::sampler::testing
