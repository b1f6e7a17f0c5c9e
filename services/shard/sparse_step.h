// One step of a sparse optimizer on a table of learnable rows: for each row, the gradients of all ranks are summed or
// averaged in (rank, batch position) order, then each row with a gradient is updated once.
//
// A radix sort orders the indices of the gradients by row; the gradients themselves are not moved. Weights, state and
// gradients of the next rows are prefetched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/dtype.h"
#include "services/sampler/access/row_ids.h"
#include "services/shard/row_update.h"

namespace espalier::shard {

// Rows of F32 values; row i begins at first + i * stride.
struct RowsInMemory {
  float* first = nullptr;
  size_t stride = 0;

  float* row(uint64_t number) const { return first + number * stride; }
};

// A table of rows in memory. The thread that applies a step has exclusive access.
struct LearnableTable {
  uint64_t num_rows = 0;
  size_t width = 0;
  size_t state_width = 0;
  RowsInMemory weights;  // [width] each
  RowsInMemory state;    // [state_width] each
  // The values that readers see if the table's dtype is F16 or BF16: [num_rows, width], rounded from the weights. Null:
  // the table's dtype is F32, and readers see the weights.
  uint16_t* rounded = nullptr;
  DType rounded_dtype = DType::kBF16;
};

// A part of one rank's gradients for a step; the parts are in (rank, batch position) order.
struct RowGradients {
  std::span<const LocalRowId> rows;  // below num_rows; repetitions are allowed
  const float* gradients = nullptr;  // [rows.size(), width]
};

// Applies steps of fewer than 2^32 gradients each. Owned by one thread; keeps its scratch memory between steps.
class SparseStep {
 public:
  // Applies one step and returns the number of rows that it updated.
  uint64_t Apply(const RowUpdate& update, sampler::DuplicateGradients duplicates, const LearnableTable& table,
                 std::span<const RowGradients> gradients);

 private:
  struct Contribution {
    uint32_t row;
    uint32_t number;  // index of the gradient, counted over all parts
  };

  void OrderByRow(uint64_t num_rows, std::span<const RowGradients> gradients);
  const float* FindGradient(uint32_t number, std::span<const RowGradients> gradients, size_t width) const;
  // Returns the sum or mean, according to `duplicates`, of the gradients order_[begin, end), which are of one row.
  const float* CombineGradients(size_t begin, size_t end, sampler::DuplicateGradients duplicates,
                                std::span<const RowGradients> gradients);

  std::vector<Contribution> order_, spare_;
  std::vector<uint32_t> first_number_;  // index of the first gradient of each part
  std::vector<float> sum_;              // [width]
};

// Rounds `row` of the table for its readers; does nothing if table.rounded is null.
void RoundRow(const LearnableTable& table, uint64_t row);

}  // namespace espalier::shard
