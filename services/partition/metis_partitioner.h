// The size limits of METIS, in separate functions so that tests can check them without a graph.
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

// Returns InvalidArgument if a quantity exceeds the limit of METIS. The message names the quantity and the algorithms
// to use instead.
Status CheckFitsMetis(const MetisSize& size);

// Returns InvalidArgument if the total weight of a balance constraint exceeds the limit, because METIS adds up the
// weights of each constraint. `names` and `totals` are by constraint.
Status CheckTotalsFitMetis(const std::vector<std::string>& names, std::span<const uint64_t> totals);

// Returns InvalidArgument if CheckFitsMetis would reject every graph whose degrees have this sum and this greatest
// common divisor. Degrees count parallel edges individually. METIS gets m parallel edges as one neighbor of weight m,
// so the total weight is the sum of the degrees. If m is the same for all neighbors, METIS gets no weights, and the
// number of neighbors is the sum divided by m. That m divides every degree, so the number is at least the sum divided
// by the divisor: if this exceeds the limit, no graph fits.
Status CheckMayFitMetis(uint64_t sum_of_degrees, uint64_t divisor_of_degrees);

}  // namespace espalier::partition
