// The size limits of METIS, in functions of their own so that they can be checked without a graph.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::partition {

// The quantities that must fit in METIS's 32-bit integers.
struct MetisSize {
  uint64_t num_vertices = 0;
  uint64_t num_neighbors = 0;      // over all vertices: twice the number of undirected edges
  uint64_t total_edge_weight = 0;  // over all neighbors
  uint64_t num_constraints = 1;
};

// Returns InvalidArgument, which names the quantity that is too large and the alternative, if METIS cannot hold it.
Status FitsMetis(const MetisSize& size);

// The same check for the balance constraints, because METIS adds up the weights of each. `names` are the constraints.
Status TotalsFitMetis(const std::vector<std::string>& names, std::span<const uint64_t> totals);

// The same check for a graph of which only degrees are known, with parallel edges counted individually. Takes the sum
// of the degrees and their greatest common divisor; a multiplicity common to all neighbors divides it. Returns
// InvalidArgument if FitsMetis would reject every graph with these degrees.
Status MayFitMetis(uint64_t sum_of_degrees, uint64_t divisor_of_degrees);

}  // namespace espalier::partition
