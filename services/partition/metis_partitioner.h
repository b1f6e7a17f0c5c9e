// METIS's own limits, apart from the graph so that they can be asked about without one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::partition {

// What METIS's 32-bit numbers have to hold.
struct MetisSize {
  uint64_t num_vertices = 0;
  uint64_t num_neighbors = 0;      // of all vertices: twice the undirected edges
  uint64_t total_edge_weight = 0;  // of all neighbours
  uint64_t num_constraints = 1;
};

// InvalidArgument says what is too large and names the alternative.
Status FitsMetis(const MetisSize& size);

// The same of what is balanced: METIS adds up each constraint's weights. `names` are theirs.
Status TotalsFitMetis(const std::vector<std::string>& names, std::span<const uint64_t> totals);

// The same of a graph of which only degrees are known, parallel edges counted one by one: their sum, and their greatest
// common divisor, which every multiplicity divides that all neighbours share. InvalidArgument where FitsMetis would
// refuse the graph whatever its edges are.
Status MayFitMetis(uint64_t sum_of_degrees, uint64_t divisor_of_degrees);

}  // namespace espalier::partition
