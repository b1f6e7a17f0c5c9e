// The rows of one mutable tensor on one partition.
//
// The rows are contiguous in memory, so a gather costs the same as one of an immutable column.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/sampler/access/row_sink.h"
#include "services/sampler/access/tensor_spec.h"
#include "services/shard/fair_shared_mutex.h"

namespace espalier::shard {

// Thread-safe: readers run concurrently, a writer runs alone, so each call is atomic.
class TensorRows {
 public:
  // Returns zero-filled rows. ResourceExhausted if there is not enough memory. The caller has checked that the size
  // does not overflow.
  static Result<std::shared_ptr<TensorRows>> Make(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& row_shape() const { return row_shape_; }
  uint64_t num_rows() const { return num_rows_; }
  uint64_t size_bytes() const { return num_rows_ * row_bytes_; }

  // Exclusive access to the rows, to change them in place, until destruction. bytes() points to row 0.
  class ExclusiveAccess {
   public:
    explicit ExclusiveAccess(TensorRows& rows) : lock_(rows.mutex_), bytes_(rows.memory_.get()) {}
    std::byte* bytes() const { return bytes_; }

   private:
    std::unique_lock<FairSharedMutex> lock_;
    std::byte* bytes_;
  };

  // Writes rows. InvalidArgument, with nothing changed, if values or rows do not fit or the dtype does not support
  // `write` (sampler::CheckWrite); `name` is used in the message.
  Status Write(sampler::RowWrite write, std::span<const LocalRowId> rows, const Tensor& values,
               const std::string& name);
  // Combines every row with the same row of `from`. InvalidArgument if dtypes, row shapes or numbers of rows differ or
  // the dtype does not support `write`; `name`, of this tensor, is used in the message.
  Status Combine(sampler::RowWrite write, TensorRows& from, const std::string& name);
  // Copies rows to the sink. Errors are those of GatherInto (row_gather.h).
  Status Gather(std::span<const LocalRowId> rows, const sampler::RowSink& sink);
  // Returns the reduction of all rows. FailedPrecondition: minimum or maximum of no rows. ResourceExhausted: a row has
  // more than TensorLimits::kMaxReducedElements elements.
  Result<Tensor> Reduce(sampler::Reduction reduction);

 private:
  TensorRows(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows);

  // Fixed after construction.
  const DType dtype_;
  const std::vector<int64_t> row_shape_;
  const uint64_t num_rows_;
  const size_t row_bytes_;

  FairSharedMutex mutex_;  // guards the bytes at memory_
  const std::shared_ptr<std::byte> memory_;
};

}  // namespace espalier::shard
