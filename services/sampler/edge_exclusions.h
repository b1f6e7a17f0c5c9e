// Edges that sampling must not see: those whose existence a model is asked about, and their reverse edges, which say
// the same. By their ends, not by their ids: ids of an edge and of its reverse have nothing to do with each other once
// a graph is partitioned, and parallel edges go together.
#pragma once

#include <optional>
#include <vector>

#include "services/sampler/neighbor_source.h"
#include "services/sampler/seed_source.h"

namespace espalier::sampler {

// By EdgeTypeId: ascending, each once.
using EdgeExclusions = std::vector<std::vector<EdgeEnds>>;

// The edges of `batch`, which are of type `type`, and for each (u, v) the edges (v, u) of type `reverse` (which may be
// `type` itself: a graph whose edges stand for both directions).
EdgeExclusions ExclusionsOf(const GlobalBatch& batch, EdgeTypeId type, std::optional<EdgeTypeId> reverse,
                            size_t num_edge_types);

}  // namespace espalier::sampler
