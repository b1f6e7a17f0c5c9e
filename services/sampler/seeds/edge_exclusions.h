// Edges that sampling must not see: those whose existence a model is asked about, and their reverse edges, which say
// the same. By their ends, not by their ids: ids of an edge and of its reverse have nothing to do with each other once
// a graph is partitioned, and parallel edges go together.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/seed_source.h"

namespace espalier::sampler {

// An edge type whose edges a model is asked about.
struct LinkType {
  EdgeTypeId edge_type;
  std::optional<EdgeTypeId> reverse_type = {};  // whose edges say the same with their ends swapped; may be edge_type
};

// By EdgeTypeId: ascending, each once.
using EdgeExclusions = std::vector<std::vector<EdgeEnds>>;

// The edges of `batch`, whose types are those of `types`, and for each (u, v) the edges (v, u) of its reverse type.
EdgeExclusions FindExclusions(const GlobalBatch& batch, std::span<const LinkType> types, size_t num_edge_types);

}  // namespace espalier::sampler
