#include "services/sampler/seeds/edge_exclusions.h"

#include <algorithm>

namespace espalier::sampler {

EdgeExclusions FindExclusions(const GlobalBatch& batch, std::span<const LinkType> types, size_t num_edge_types) {
  EdgeExclusions excluded(num_edge_types);
  for (size_t i = 0; i < batch.seeds.size(); ++i) {
    const auto& [type, reverse] = types[batch.types[i]];
    excluded[type.value].push_back({.destination = batch.seeds[i], .source = batch.sources[i]});
    if (!reverse.has_value()) continue;
    excluded[reverse->value].push_back({.destination = batch.sources[i], .source = batch.seeds[i]});
  }
  for (std::vector<EdgeEnds>& of_type : excluded) {
    std::sort(of_type.begin(), of_type.end());
    of_type.erase(std::unique(of_type.begin(), of_type.end()), of_type.end());
  }
  return excluded;
}

}  // namespace espalier::sampler
