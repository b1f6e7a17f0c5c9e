#include "services/shard/tensor_rows.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "services/base/random_access_memory.h"
#include "services/shard/element_kernels.h"
#include "services/shard/row_gather.h"

namespace espalier::shard {

TensorRows::TensorRows(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows)
    : dtype_(dtype),
      row_shape_(std::move(row_shape)),
      num_rows_(num_rows),
      row_bytes_(sampler::RowBytes(dtype_, row_shape_)),
      memory_(AllocateForRandomAccess(num_rows_ * row_bytes_)) {}

Result<std::shared_ptr<TensorRows>> TensorRows::Make(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows) {
  std::shared_ptr<TensorRows> rows(new TensorRows(dtype, std::move(row_shape), num_rows));
  if (rows->memory_ != nullptr) return rows;
  return ResourceExhausted("out of memory: " + std::to_string(rows->size_bytes()) + " bytes");
}

Status TensorRows::Write(sampler::RowWrite write, std::span<const LocalRowId> rows, const Tensor& values,
                         const std::string& name) {
  std::vector<int64_t> expected = {static_cast<int64_t>(rows.size())};
  expected.insert(expected.end(), row_shape_.begin(), row_shape_.end());
  if (values.dtype() != dtype_ || values.shape() != expected) {
    return InvalidArgument("tensor '" + name + "' cannot take " + values.ToString() + " for " +
                           std::to_string(rows.size()) + " rows of " + ToString(dtype_) + " with " +
                           std::to_string(row_bytes_) + " bytes each");
  }
  RETURN_IF_ERROR(sampler::CheckWrite(write, dtype_));
  for (const LocalRowId row : rows) {
    if (row.value >= num_rows_) {
      return InvalidArgument("row " + std::to_string(row.value) + " of tensor '" + name + "' is not one of its " +
                             std::to_string(num_rows_) + " rows");
    }
  }
  if (row_bytes_ == 0) return {};
  const uint64_t row_elements = row_bytes_ / ItemSize(dtype_);
  const std::unique_lock lock(mutex_);
  for (size_t i = 0; i < rows.size(); ++i) {
    WriteElements(write, dtype_, memory_.get() + rows[i].value * row_bytes_, values.bytes() + i * row_bytes_,
                  row_elements);
  }
  return {};
}

Status TensorRows::Combine(sampler::RowWrite write, TensorRows& from, const std::string& name) {
  if (from.dtype_ != dtype_ || from.row_shape_ != row_shape_ || from.num_rows_ != num_rows_) {
    return InvalidArgument("tensor '" + name + "' cannot be combined with a tensor of another dtype or shape");
  }
  RETURN_IF_ERROR(sampler::CheckWrite(write, dtype_));
  const uint64_t num_elements = num_rows_ * (row_bytes_ / ItemSize(dtype_));
  if (this == &from) {
    if (write == sampler::RowWrite::kAssign) return {};
    const std::unique_lock lock(mutex_);
    WriteElements(write, dtype_, memory_.get(), memory_.get(), num_elements);
    return {};
  }
  // Both locks are acquired together, so that combining a with b and b with a cannot deadlock.
  std::shared_lock reading(from.mutex_, std::defer_lock);
  std::unique_lock writing(mutex_, std::defer_lock);
  std::lock(reading, writing);
  WriteElements(write, dtype_, memory_.get(), from.memory_.get(), num_elements);
  return {};
}

Status TensorRows::Gather(std::span<const LocalRowId> rows, const sampler::RowSink& sink) {
  const std::shared_lock lock(mutex_);
  return GatherInto(memory_.get(), num_rows_, row_bytes_, rows, sink);
}

Result<Tensor> TensorRows::Reduce(sampler::Reduction reduction) {
  const uint64_t row_elements = row_bytes_ / ItemSize(dtype_);
  if (row_elements > sampler::TensorLimits::kMaxReducedElements) {
    return ResourceExhausted("a reduction over rows of " + std::to_string(row_elements) + " elements, the limit is " +
                             std::to_string(sampler::TensorLimits::kMaxReducedElements));
  }
  const bool needs_rows = reduction == sampler::Reduction::kMin || reduction == sampler::Reduction::kMax;
  if (needs_rows && num_rows_ == 0) return FailedPrecondition("a reduction over no rows has no minimum or maximum");
  const std::shared_lock lock(mutex_);
  return ReduceRows(reduction, dtype_, memory_.get(), num_rows_, row_elements);
}

}  // namespace espalier::shard
