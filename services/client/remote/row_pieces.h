// Rows that are read a stretch at a time, in one tensor.
#pragma once

#include <cstdint>
#include <utility>

#include "services/base/status.h"
#include "services/base/tensor.h"

namespace espalier::client {

inline constexpr uint64_t kRowBytesPerQuestion = uint64_t{64} << 20;
// How many rows as wide as these, of which there may be none, are asked for at once: `most`, or fewer wide ones, so
// that an answer stays far below what a message may hold.
uint64_t RowsPerQuestion(const Tensor& rows, uint64_t most, uint64_t bytes_per_question = kRowBytesPerQuestion);

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
