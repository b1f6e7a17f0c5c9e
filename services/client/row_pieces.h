// Rows that are read a stretch at a time, in one tensor.
#pragma once

#include <cstdint>
#include <utility>

#include "services/base/status.h"
#include "services/base/tensor.h"

namespace espalier::client {

// One thread.
class RowPieces {
 public:
  // Of `num_rows` rows in all.
  explicit RowPieces(uint64_t num_rows) : num_rows_(num_rows) {}

  // The next rows [k, row shape...]. Internal where they are more than are left, or of another dtype or shape than
  // those before.
  Status Add(const Tensor& rows);
  // [num_rows, row shape...], after all.
  Tensor Take() { return std::move(rows_); }

 private:
  const uint64_t num_rows_;
  uint64_t filled_ = 0;
  bool has_shape_ = false;
  Tensor rows_;
};

}  // namespace espalier::client
