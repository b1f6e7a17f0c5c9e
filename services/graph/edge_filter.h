// Which edges of one edge type stay, and what the type then holds. Candidates are numbered as original edge ids are:
// candidate c below m is edge c, candidate m + i the reverse of edge i.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "services/graph/source_graph.h"

namespace espalier::graph {

enum class Reverses { kNone, kAdded };

// Owned by one thread. `edges` must be valid and without original ids.
class EdgeFilter {
 public:
  // With kAdded, the reverses of self loops are no candidates.
  EdgeFilter(const EdgeSet& edges, Reverses reverses, int threads);

  void DropSelfLoops();
  // Keeps the smallest candidate of each (source, destination).
  void DropDuplicates(uint64_t num_destinations);
  // Drops every candidate with one of these ends, (source, destination), ascending.
  void DropPairs(std::span<const std::pair<uint64_t, uint64_t>> pairs);

  // Candidates that stay so far.
  uint64_t num_kept() const;

  // The edges that stay, by candidate. Takes the columns over one by one, so that memory never holds all twice.
  EdgeSet Apply(EdgeSet edges) const;

 private:
  uint64_t num_edges_;
  int threads_;
  Tensor sources_;
  Tensor destinations_;
  std::vector<uint8_t> keep_;  // [candidates]; bytes, because threads write neighbours
};

}  // namespace espalier::graph
