// Rows of edges, which are a step's seeds or are requested by ids: merges the partitions' responses by the positions of
// the edges in the request.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/tensor.h"

namespace espalier::sampler {

// Returns [places, row shape...]: row i is row places[i] of `rows`, which must exist.
template <class Place>
Tensor RowsAt(const Tensor& rows, std::span<const Place> places) {
  std::vector<int64_t> shape = rows.shape();
  shape[0] = static_cast<int64_t>(places.size());
  Tensor taken = Tensor::Zeros(rows.dtype(), std::move(shape));
  const size_t row_bytes = rows.row_bytes();
  if (row_bytes == 0) return taken;
  for (size_t i = 0; i < places.size(); ++i) {
    std::memcpy(taken.mutable_bytes() + i * row_bytes, rows.bytes() + places[i] * row_bytes, row_bytes);
  }
  return taken;
}

class SeedRows {
 public:
  explicit SeedRows(uint64_t num_seeds) : num_seeds_(num_seeds) {}

  // Adds one partition's rows [k, row shape...] of the edges at `positions` [k], all below num_seeds. Internal if the
  // numbers of rows and positions differ, or if partitions have columns of different dtypes or shapes;
  // ResourceExhausted if the rows of all edges would take more than 4 GiB.
  Status Add(uint32_t partition, const Tensor& positions, const Tensor& rows);

  // Returns [num_seeds, row shape...], after Add for every partition.
  Tensor Take() { return std::move(rows_); }

 private:
  const uint64_t num_seeds_;
  bool has_shape_ = false;
  Tensor rows_;
};

}  // namespace espalier::sampler
