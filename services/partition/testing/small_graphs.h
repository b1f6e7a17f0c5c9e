// The graphs that tests of partitioning talk about.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/graph/source_graph.h"

namespace espalier::partition::testing {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

// One node type "node", one edge type "node:to:node", exactly these directed edges.
graph::SourceGraph GraphOf(uint64_t num_nodes, const Edges& edges);

// Both directions of the edges of a rows x columns grid; node r * columns + c.
graph::SourceGraph GridGraph(uint32_t rows, uint32_t columns);

// GridGraph with each edge of a row ten times: the fewest edges are cut between two rows, while a cut across the rows
// of a grid that is longer than high has the fewest nodes at it.
graph::SourceGraph GridOfStrongRows(uint32_t rows, uint32_t columns);

// `communities` groups of `size` nodes, nodes dealt to them round robin: node i is of community i % communities.
// Each node gets `inside` edges within and `across` edges anywhere, both directions of each.
graph::SourceGraph CommunityGraph(uint32_t communities, uint32_t size, uint32_t inside, uint32_t across, uint64_t seed);

// Types author (n), paper (3 n), venue (0), with relations writes (author -> paper, with an edge column "year" with
// repeated values and a vector column "weight"), cites (paper -> paper, with parallel edges and self loops) and
// appears (paper -> venue, none). Papers have features, labels and a split "public".
graph::SourceGraph TypedGraph(uint32_t num_authors, uint64_t seed);

}  // namespace espalier::partition::testing
