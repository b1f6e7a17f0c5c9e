#include "services/shard/tensor_rows.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "services/shard/element_kernels.h"
#include "services/shard/row_gather.h"

namespace espalier::shard {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Null where there is no memory. Large tensors ask for huge pages: their rows are read and written at random.
std::shared_ptr<std::byte> Zeroed(size_t size_bytes) {
  if (size_bytes < kHugePage) {
    return {static_cast<std::byte*>(std::calloc(std::max<size_t>(1, size_bytes), 1)), std::free};
  }
  void* memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, size_bytes, MADV_HUGEPAGE);  // advice: without it only speed suffers
  return {static_cast<std::byte*>(memory), [size_bytes](std::byte* mapped) { munmap(mapped, size_bytes); }};
}

}  // namespace

TensorRows::TensorRows(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows)
    : dtype_(dtype),
      row_shape_(std::move(row_shape)),
      num_rows_(num_rows),
      row_bytes_(sampler::RowBytes(dtype_, row_shape_)),
      rows_per_block_(std::max<uint64_t>(1, kBlockBytes / std::max<size_t>(1, row_bytes_))),
      memory_(Zeroed(num_rows_ * row_bytes_)) {}

Result<std::shared_ptr<TensorRows>> TensorRows::Make(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows) {
  std::shared_ptr<TensorRows> rows(new TensorRows(dtype, std::move(row_shape), num_rows));
  if (rows->memory_ != nullptr) return rows;
  return ResourceExhausted("out of memory: " + std::to_string(rows->size_bytes()) + " bytes");
}

TensorRows::Changing::Changing(TensorRows& tensor, std::span<const LocalRowId> rows)
    : lock_(tensor.mutex_), bytes_(tensor.memory_.get()) {
  if (tensor.snapshots_.empty()) return;
  for (const LocalRowId row : rows) tensor.KeepForSnapshots(row.value);
}

Status TensorRows::Write(sampler::RowWrite write, std::span<const LocalRowId> rows, const Tensor& values,
                         const std::string& name) {
  std::vector<int64_t> expected = {static_cast<int64_t>(rows.size())};
  expected.insert(expected.end(), row_shape_.begin(), row_shape_.end());
  if (values.dtype() != dtype_ || values.shape() != expected) {
    return InvalidArgument("tensor '" + name + "' cannot take " + values.ToString() + " for " +
                           std::to_string(rows.size()) + " rows of " + NameOf(dtype_) + " with " +
                           std::to_string(row_bytes_) + " bytes each");
  }
  RETURN_IF_ERROR(sampler::CheckWrite(write, dtype_));
  for (const LocalRowId row : rows) {
    if (row.value >= num_rows_) {
      return InvalidArgument("row " + std::to_string(row.value) + " of tensor '" + name + "' does not exist; it has " +
                             std::to_string(num_rows_));
    }
  }
  if (row_bytes_ == 0) return {};
  const uint64_t row_elements = row_bytes_ / SizeOf(dtype_);
  const std::unique_lock lock(mutex_);
  if (!snapshots_.empty()) {
    for (const LocalRowId row : rows) KeepForSnapshots(row.value);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    WriteElements(write, dtype_, memory_.get() + rows[i].value * row_bytes_, values.bytes() + i * row_bytes_,
                  row_elements);
  }
  return {};
}

Status TensorRows::Combine(sampler::RowWrite write, TensorRows& from, const std::string& name) {
  if (from.dtype_ != dtype_ || from.row_shape_ != row_shape_ || from.num_rows_ != num_rows_) {
    return InvalidArgument("tensor '" + name + "' cannot be combined with one of another dtype or shape");
  }
  RETURN_IF_ERROR(sampler::CheckWrite(write, dtype_));
  const uint64_t num_elements = num_rows_ * (row_bytes_ / SizeOf(dtype_));
  if (this == &from) {
    if (write == sampler::RowWrite::kAssign) return {};
    const std::unique_lock lock(mutex_);
    for (uint64_t row = 0; row < num_rows_ && !snapshots_.empty(); row += rows_per_block_) KeepForSnapshots(row);
    WriteElements(write, dtype_, memory_.get(), memory_.get(), num_elements);
    return {};
  }
  // Both locks at once, so that a combination of a with b and one of b with a do not wait for each other.
  std::shared_lock reading(from.mutex_, std::defer_lock);
  std::unique_lock writing(mutex_, std::defer_lock);
  std::lock(reading, writing);
  for (uint64_t row = 0; row < num_rows_ && !snapshots_.empty(); row += rows_per_block_) KeepForSnapshots(row);
  WriteElements(write, dtype_, memory_.get(), from.memory_.get(), num_elements);
  return {};
}

Status TensorRows::Gather(std::span<const LocalRowId> rows, const sampler::RowSink& sink) {
  const std::shared_lock lock(mutex_);
  return GatherInto(memory_.get(), num_rows_, row_bytes_, rows, sink);
}

Result<Tensor> TensorRows::Reduce(sampler::Reduction reduction) {
  const uint64_t num_columns = row_bytes_ / SizeOf(dtype_);
  if (num_columns > sampler::TensorLimits::kMaxReducedColumns) {
    return ResourceExhausted("a reduction over rows of " + std::to_string(num_columns) + " elements, the limit is " +
                             std::to_string(sampler::TensorLimits::kMaxReducedColumns));
  }
  const bool needs_rows = reduction == sampler::Reduction::kMin || reduction == sampler::Reduction::kMax;
  if (needs_rows && num_rows_ == 0) return FailedPrecondition("no rows have neither a smallest nor a largest value");
  const std::shared_lock lock(mutex_);
  return ReduceRows(reduction, dtype_, memory_.get(), num_rows_, num_columns);
}

std::shared_ptr<TensorSnapshot> TensorRows::Snapshot() {
  std::shared_ptr<TensorSnapshot> snapshot(new TensorSnapshot(shared_from_this()));
  const std::unique_lock lock(mutex_);
  snapshots_.push_back(snapshot.get());
  return snapshot;
}

size_t TensorRows::BytesOfBlock(uint64_t block) const {
  return std::min(rows_per_block_, num_rows_ - block * rows_per_block_) * row_bytes_;
}

void TensorRows::KeepForSnapshots(uint64_t row) {
  const uint64_t block = row / rows_per_block_;
  for (TensorSnapshot* snapshot : snapshots_) {
    std::unique_ptr<std::byte[]>& kept = snapshot->kept_[block];
    if (kept != nullptr) continue;
    kept = std::make_unique_for_overwrite<std::byte[]>(BytesOfBlock(block));
    std::memcpy(kept.get(), memory_.get() + block * rows_per_block_ * row_bytes_, BytesOfBlock(block));
  }
}

TensorSnapshot::TensorSnapshot(std::shared_ptr<TensorRows> rows) : rows_(std::move(rows)), kept_(rows_->num_blocks()) {}

TensorSnapshot::~TensorSnapshot() {
  const std::unique_lock lock(rows_->mutex_);
  std::erase(rows_->snapshots_, this);
}

void TensorSnapshot::Read(uint64_t first, uint64_t count, std::byte* out) const {
  ESPALIER_CHECK(first <= rows_->num_rows_ && count <= rows_->num_rows_ - first);
  const uint64_t rows_per_block = rows_->rows_per_block_;
  const size_t row_bytes = rows_->row_bytes_;
  const std::shared_lock lock(rows_->mutex_);
  for (uint64_t row = first; row < first + count;) {
    const uint64_t block = row / rows_per_block;
    const uint64_t end = std::min(first + count, (block + 1) * rows_per_block);
    const std::byte* const from = kept_[block] != nullptr
                                      ? kept_[block].get() + (row - block * rows_per_block) * row_bytes
                                      : rows_->memory_.get() + row * row_bytes;
    std::memcpy(out, from, (end - row) * row_bytes);
    out += (end - row) * row_bytes;
    row = end;
  }
}

uint64_t TensorSnapshot::CopiedBytes() const {
  const std::shared_lock lock(rows_->mutex_);
  uint64_t copied = 0;
  for (uint64_t block = 0; block < kept_.size(); ++block) {
    if (kept_[block] != nullptr) copied += rows_->BytesOfBlock(block);
  }
  return copied;
}

}  // namespace espalier::shard
