// Merges the rows of edges that the partitions return into one tensor, in the order of the edges in the request. The
// edges are a step's seeds or are requested by ids.
#pragma once

#include <cstdint>
#include <utility>

#include "services/base/status.h"
#include "services/base/tensor.h"

namespace espalier::sampler {

class SeedRows {
 public:
  explicit SeedRows(uint64_t num_edges) : num_edges_(num_edges) {}

  // Adds one partition's rows [k, row shape...] of the edges at `positions` [k], all below num_edges. Internal if the
  // numbers of rows and positions differ, or if partitions have columns of different dtypes or shapes;
  // ResourceExhausted if the rows of all edges would take more than 4 GiB.
  Status Add(uint32_t partition, const Tensor& positions, const Tensor& rows);

  // Returns [num_edges, row shape...], after Add for every partition that was queried.
  Tensor Take() { return std::move(rows_); }

 private:
  const uint64_t num_edges_;
  bool has_shape_ = false;
  Tensor rows_;
};

}  // namespace espalier::sampler
