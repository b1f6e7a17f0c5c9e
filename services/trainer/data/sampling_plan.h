// Converts the document's sampling section to a SamplingSpec for a given graph.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::trainer {

// Returns the specification of the document's layers. A model without message passing (ModelType::kEmbedding) has no
// layers; the specification then has one layer that draws nothing. InvalidArgument or NotFound names the field and the
// edge type that does not fit the graph.
Result<sampler::SamplingSpec> MakeSamplingSpec(const job::Sampling& sampling, const graph::GraphSchema& schema,
                                               uint64_t seed);

// Returns the relations that each layer samples: by layer, each list in ascending order.
std::vector<std::vector<EdgeTypeId>> ListRelations(const sampler::SamplingSpec& spec);

// Returns a one-layer specification with all in-edges of the relations of layer `layer`, for full-neighborhood
// inference.
sampler::SamplingSpec MakeFullNeighborhood(const sampler::SamplingSpec& spec, size_t layer);

// Returns the node types that are needed to compute the outputs of the seed types, each list in ascending order: layer
// l reads the types of entry l and writes the types of entry l + 1. The last entry contains the seed types.
std::vector<std::vector<NodeTypeId>> ListTypes(const sampler::SamplingSpec& spec, const graph::GraphSchema& schema,
                                               std::span<const NodeTypeId> seed_types);

}  // namespace espalier::trainer
