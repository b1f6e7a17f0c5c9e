// Joins rows that are read in several queries.
#pragma once

#include <cstdint>
#include <utility>

#include "services/base/status.h"
#include "services/base/tensor.h"

namespace espalier::client {

// Default size of the rows of one query; far below the size limit of a message.
inline constexpr uint64_t kRowBytesPerRequest = uint64_t{64} << 20;
// Returns how many rows with the dtype and row shape of `rows` (which may have no rows) a query should request: as many
// as fit into `bytes_per_request`, at least 1 and at most `max_rows`.
uint64_t RowsPerRequest(const Tensor& rows, uint64_t max_rows, uint64_t bytes_per_request = kRowBytesPerRequest);

// Collects consecutive rows in one tensor. For one thread.
class RowPieces {
 public:
  // `num_rows`: total number of rows.
  explicit RowPieces(uint64_t num_rows) : num_rows_(num_rows) {}

  // Appends rows [k, row shape...]. Internal: more than `num_rows` rows in all, or another dtype or row shape than that
  // of earlier rows.
  Status Add(const Tensor& rows);
  // Returns [num_rows, row shape...]. Call it once, after all rows were added.
  Tensor Take() { return std::move(rows_); }

 private:
  const uint64_t num_rows_;
  uint64_t filled_ = 0;
  bool has_shape_ = false;
  Tensor rows_;
};

}  // namespace espalier::client
