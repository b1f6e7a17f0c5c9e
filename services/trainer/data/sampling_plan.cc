#include "services/trainer/data/sampling_plan.h"

#include <set>

namespace espalier::trainer {
namespace {

Result<sampler::LayerSpec> MakeLayerSpec(const job::SamplingLayer& layer, const graph::GraphSchema& schema) {
  sampler::LayerSpec spec;
  spec.fanouts.assign(schema.num_edge_types(), layer.fanout.value_or(0));
  for (const job::EdgeTypeFanout& named : layer.edge_types) {
    ASSIGN_OR_RETURN(const EdgeTypeId type, schema.FindEdgeType(named.type));
    spec.fanouts[type.value] = named.fanout;
  }
  return spec;
}

}  // namespace

Result<sampler::SamplingSpec> MakeSamplingSpec(const job::Sampling& sampling, const graph::GraphSchema& schema,
                                               uint64_t seed) {
  sampler::SamplingSpec spec;
  spec.draw = sampling.draw;
  spec.seed_time_column = sampling.seed_time;
  spec.seed = seed;
  for (size_t i = 0; i < sampling.layers.size(); ++i) {
    auto layer = MakeLayerSpec(sampling.layers[i], schema);
    if (!layer.ok()) return layer.status().While("spec.training.sampling.layers[" + std::to_string(i) + "]");
    spec.layers.push_back(*std::move(layer));
  }
  // Without layers: one layer that draws nothing, so that a mini-batch has only the seed nodes.
  if (spec.layers.empty()) spec.layers.push_back({std::vector<int32_t>(schema.num_edge_types(), 0)});
  return spec;
}

std::vector<std::vector<EdgeTypeId>> ListRelations(const sampler::SamplingSpec& spec) {
  std::vector<std::vector<EdgeTypeId>> relations;
  for (const sampler::LayerSpec& layer : spec.layers) {
    std::vector<EdgeTypeId> layer_relations;
    for (uint16_t type = 0; type < layer.fanouts.size(); ++type) {
      if (layer.fanouts[type] != 0) layer_relations.push_back(EdgeTypeId(type));
    }
    relations.push_back(std::move(layer_relations));
  }
  return relations;
}

sampler::SamplingSpec MakeFullNeighborhood(const sampler::SamplingSpec& spec, size_t layer) {
  sampler::SamplingSpec full;
  full.seed = spec.seed;
  full.layers.push_back(spec.layers[layer]);
  for (int32_t& fanout : full.layers[0].fanouts) {
    if (fanout != 0) fanout = sampler::kFullNeighborhood;
  }
  return full;
}

std::vector<std::vector<NodeTypeId>> ListTypes(const sampler::SamplingSpec& spec, const graph::GraphSchema& schema,
                                               std::span<const NodeTypeId> seed_types) {
  const std::vector<std::vector<EdgeTypeId>> relations = ListRelations(spec);
  std::set<NodeTypeId> written(seed_types.begin(), seed_types.end());
  std::vector<std::vector<NodeTypeId>> types(relations.size() + 1);
  types.back().assign(written.begin(), written.end());
  for (size_t layer = relations.size(); layer-- > 0;) {
    std::set<NodeTypeId> read = written;
    for (const EdgeTypeId relation : relations[layer]) {
      if (written.contains(schema.DestinationOf(relation))) read.insert(schema.SourceOf(relation));
    }
    types[layer].assign(read.begin(), read.end());
    written = std::move(read);
  }
  return types;
}

}  // namespace espalier::trainer
