// The rows of one mutable tensor on one partition.
//
// They lie in one piece of memory, so that a gather costs what one of an immutable column does.
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

// Thread-safe: who reads runs together, who writes alone; each call is as one to the others.
class TensorRows {
 public:
  // Zero-filled. ResourceExhausted where there is no memory. Their product has been checked not to overflow.
  static Result<std::shared_ptr<TensorRows>> Make(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& row_shape() const { return row_shape_; }
  uint64_t num_rows() const { return num_rows_; }
  uint64_t size_bytes() const { return num_rows_ * row_bytes_; }

  // Keeps everybody out while rows change in place (`bytes`: of row 0).
  class Changing {
   public:
    explicit Changing(TensorRows& rows) : lock_(rows.mutex_), bytes_(rows.memory_.get()) {}
    std::byte* bytes() const { return bytes_; }

   private:
    std::unique_lock<FairSharedMutex> lock_;
    std::byte* bytes_;
  };

  // InvalidArgument, and nothing changed, where values or rows do not fit; `name` is for the message.
  Status Write(sampler::RowWrite write, std::span<const LocalRowId> rows, const Tensor& values,
               const std::string& name);
  // With the rows of another tensor of the same dtype, row shape and number (InvalidArgument).
  Status Combine(sampler::RowWrite write, TensorRows& from, const std::string& name);
  Status Gather(std::span<const LocalRowId> rows, const sampler::RowSink& sink);
  // FailedPrecondition: the smallest or largest of no rows. ResourceExhausted: rows of too many elements.
  Result<Tensor> Reduce(sampler::Reduction reduction);

 private:
  TensorRows(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows);

  // Fixed after construction.
  const DType dtype_;
  const std::vector<int64_t> row_shape_;
  const uint64_t num_rows_;
  const size_t row_bytes_;

  FairSharedMutex mutex_;  // guards what memory_ points at
  const std::shared_ptr<std::byte> memory_;
};

}  // namespace espalier::shard
