// The document's sampling section on a given graph.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::trainer {

// No layers, of a model without message passing (ModelType::kEmbedding), are one that draws nothing. InvalidArgument or
// NotFound names the field and the edge type that does not fit the graph.
Result<sampler::SamplingSpec> MakeSamplingSpec(const job::Sampling& sampling, const graph::GraphSchema& schema,
                                               uint64_t seed);

// The relations that each layer samples, by layer, ascending.
std::vector<std::vector<EdgeTypeId>> ListRelations(const sampler::SamplingSpec& spec);

// The same relations with all in-edges: what full-neighbourhood inference computes layer `layer` from.
sampler::SamplingSpec MakeFullNeighborhood(const sampler::SamplingSpec& spec, size_t layer);

// The node types whose rows each layer must write for the seed types' outputs, by layer, ascending; entry L, one
// past the last layer, is the seed types alone. So types[l + 1] is what layer l writes and types[0] what layer 0 reads.
std::vector<std::vector<NodeTypeId>> ListTypes(const sampler::SamplingSpec& spec, const graph::GraphSchema& schema,
                                               std::span<const NodeTypeId> seed_types);

}  // namespace espalier::trainer
