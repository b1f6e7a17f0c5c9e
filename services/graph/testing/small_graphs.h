// Small graphs for tests.
#pragma once

#include <utility>
#include <vector>

#include "services/graph/source_graph.h"

namespace espalier::graph::testing {

using EdgeList = std::vector<std::pair<uint32_t, uint32_t>>;  // (source, destination)

// One node type "node", one edge type "edge" with these edges in this order. Node i has "node-feat" {i, i + 0.5} and
// "node-label" i % 3; in split "public", node i is in train, validation or test by i % 3.
SourceGraph HomogeneousGraph(uint64_t num_nodes, const EdgeList& edges);

// The path 0-1-2-..., in both directions: (i, i + 1), then (i + 1, i), for i = 0, 1, ...
SourceGraph PathGraph(uint64_t num_nodes);
// A star around node 0, in both directions: (0, i), then (i, 0), for i = 1, 2, ...
SourceGraph StarGraph(uint64_t num_nodes);
// A grid of nodes row * columns + column. Each is connected with its right and lower neighbors in both directions.
SourceGraph GridGraph(uint64_t rows, uint64_t columns);

// Two authors write three papers, papers cite papers; "venue" has no nodes and no edges:
//   writes: a0->p0 a0->p1 a1->p1 a1->p2    cites: p1->p0 p2->p0 p2->p1
// Papers have "node-feat" {i, i + 0.5} and "node-label" i % 2, authors "node-feat" {10 * i}; edges of "writes" have
// "weight" 0.5, 1.5, ...
SourceGraph TypedExample();

// (source, destination) of each edge, in order.
EdgeList EdgesOf(const EdgeSet& edges);

}  // namespace espalier::graph::testing
