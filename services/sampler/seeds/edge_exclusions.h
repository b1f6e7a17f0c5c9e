// Edges that sampling must not use: the edges that the model predicts in this step, and their reverse edges, which
// carry the same information. They are identified by their endpoints, not by ids: after partitioning, the ids of an
// edge and of its reverse are unrelated, and parallel edges are excluded together.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/seed_source.h"

namespace espalier::sampler {

// An edge type whose edges the model predicts.
struct LinkType {
  EdgeTypeId edge_type;
  std::optional<EdgeTypeId> reverse_type = {};  // type of the reverse edges; may be edge_type
};

// The excluded edges by EdgeTypeId; each list ascending and distinct.
using EdgeExclusions = std::vector<std::vector<EdgeEnds>>;

// Returns the edges of `batch` and, for each edge (u, v), the edges (v, u) of its reverse type. batch.types are indices
// into `types`.
EdgeExclusions FindExclusions(const GlobalBatch& batch, std::span<const LinkType> types, size_t num_edge_types);

}  // namespace espalier::sampler
