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

// Returns, for each layer, the edge types that it samples, in ascending order.
std::vector<std::vector<EdgeTypeId>> ListRelations(const sampler::SamplingSpec& spec);

// Returns a one-layer specification with all in-edges of the edge types that layer `layer` samples, for
// full-neighborhood inference.
sampler::SamplingSpec MakeFullNeighborhood(const sampler::SamplingSpec& spec, size_t layer);

// Returns the node types that each layer needs to compute the outputs of the seed types: layer l reads the types of
// list l and writes the types of list l + 1. The last list contains the seed types. Each list is in ascending order.
std::vector<std::vector<NodeTypeId>> ListTypes(const sampler::SamplingSpec& spec, const graph::GraphSchema& schema,
                                               std::span<const NodeTypeId> seed_types);

}  // namespace espalier::trainer
