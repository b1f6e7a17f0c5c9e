// Small graphs for tests of partitioning.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/graph/source_graph.h"

namespace espalier::partition::testing {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

// Returns a graph with one node type "node" and one edge type "node:to:node" that has exactly these directed edges.
graph::SourceGraph GraphOf(uint64_t num_nodes, const Edges& edges);

// Returns a grid of rows x columns nodes with both directions of its edges. Node (r, c) has ID r * columns + c.
graph::SourceGraph GridGraph(uint32_t rows, uint32_t columns);

// Returns GridGraph with ten parallel edges for each edge of a row. A cut between two rows cuts the fewest edges; in a
// grid that is wider than high, a cut across the rows has the fewest boundary nodes.
graph::SourceGraph GridOfStrongRows(uint32_t rows, uint32_t columns);

// Returns a graph of `communities` groups of `size` nodes; node i belongs to community i % communities. Each node gets
// `inside` edges within its community and `across` edges to any node, each in both directions.
graph::SourceGraph CommunityGraph(uint32_t communities, uint32_t size, uint32_t inside, uint32_t across, uint64_t seed);

// Returns a graph with types author (n), paper (3 n) and venue (0), with relations writes (author -> paper, with an
// edge column "year" with repeated values and a vector column "weight"), cites (paper -> paper, with parallel edges and
// self loops) and appears (paper -> venue, none). Papers have features, labels and a split "public".
graph::SourceGraph TypedGraph(uint32_t num_authors, uint64_t seed);

}  // namespace espalier::partition::testing
