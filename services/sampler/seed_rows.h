// Rows of edges, of a step's seeds or asked for by their ids: what each partition answers, at the edges' positions.
#pragma once

#include <cstdint>
#include <utility>

#include "services/base/status.h"
#include "services/base/tensor.h"

namespace espalier::sampler {

class SeedRows {
 public:
  explicit SeedRows(uint64_t num_seeds) : num_seeds_(num_seeds) {}

  // One partition's rows [k, row shape...], of the edges at `positions` [k], all below num_seeds. Internal where they
  // are not as many, or where partitions have columns of different dtypes or shapes; ResourceExhausted where those of
  // all edges would take more than 4 GiB.
  Status Add(uint32_t partition, const Tensor& positions, const Tensor& rows);

  // [num_seeds, row shape...], after Add of every partition.
  Tensor Take() { return std::move(rows_); }

 private:
  const uint64_t num_seeds_;
  bool has_shape_ = false;
  Tensor rows_;
};

}  // namespace espalier::sampler
