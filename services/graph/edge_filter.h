// Decides which edges of one edge type are kept and builds the resulting edge set. A candidate is an edge or, with
// kAdded, the reverse of an edge. With m edges, candidate c < m is edge c and candidate m + i is the reverse of edge i.
// The number of a kept candidate becomes the original ID of its edge.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "services/graph/source_graph.h"

namespace espalier::graph {

// Whether the reverses of edges are candidates.
enum class Reverses { kNone, kAdded };

// Not thread-safe. `edges` must be valid and have no original IDs.
class EdgeFilter {
 public:
  // With kAdded, every edge except self loops has a reverse among the candidates.
  EdgeFilter(const EdgeSet& edges, Reverses reverses, int threads);

  void DropSelfLoops();
  // Of the remaining candidates with the same source and destination, keeps only the one with the smallest number.
  void DropDuplicates(uint64_t num_destinations);
  // Drops every candidate whose (source, destination) is one of `pairs`, which must be ascending.
  void DropPairs(std::span<const std::pair<uint64_t, uint64_t>> pairs);

  // Returns the number of candidates that have not been dropped.
  uint64_t num_kept() const;

  // Returns the kept candidates in ascending order. `edges` must be the edges that the constructor got. Replaces their
  // columns one at a time, so that memory never holds two copies of all columns.
  EdgeSet Apply(EdgeSet edges) const;

 private:
  uint64_t num_edges_;
  int threads_;
  Tensor sources_;
  Tensor destinations_;
  std::vector<uint8_t> keep_;  // [candidates]; bytes, because threads write adjacent entries
};

}  // namespace espalier::graph
