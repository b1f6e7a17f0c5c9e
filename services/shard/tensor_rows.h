// The rows of one mutable tensor on one partition.
//
// They lie in one piece of memory, so that a gather costs what one of an immutable column does. For snapshots they are
// thought of as blocks: while a snapshot is open, the first write into a block copies what it held before to the
// snapshot, which therefore shows every row as it was when it was taken and costs nothing until something changes.
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

class TensorSnapshot;

// Thread-safe: who reads runs together, who writes alone; each call is as one to the others.
class TensorRows : public std::enable_shared_from_this<TensorRows> {
 public:
  // About this many bytes are copied at the first write into a block of a snapshot.
  static constexpr size_t kBlockBytes = size_t{1} << 18;

  // Zero-filled. ResourceExhausted where there is no memory. Their product has been checked not to overflow.
  static Result<std::shared_ptr<TensorRows>> Make(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& row_shape() const { return row_shape_; }
  uint64_t num_rows() const { return num_rows_; }
  uint64_t size_bytes() const { return num_rows_ * row_bytes_; }

  // Keeps everybody out while rows are filled in place.
  class Filling {
   public:
    explicit Filling(TensorRows& rows) : lock_(rows.mutex_), bytes_(rows.memory_.get()) {}
    std::byte* bytes() const { return bytes_; }

   private:
    std::unique_lock<FairSharedMutex> lock_;
    std::byte* bytes_;
  };

  // Keeps everybody out while `rows`, which exist, change in place (`bytes`: of row 0); snapshots keep what they held.
  class Changing {
   public:
    Changing(TensorRows& tensor, std::span<const LocalRowId> rows);
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

  // The rows as they are now, whatever is written later. Keeps them alive.
  std::shared_ptr<TensorSnapshot> Snapshot();

 private:
  friend class TensorSnapshot;
  TensorRows(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows);

  uint64_t num_blocks() const { return (num_rows_ + rows_per_block_ - 1) / rows_per_block_; }
  size_t BytesOfBlock(uint64_t block) const;
  // Before row `row` changes: gives its block to the snapshots that do not have it. mutex_ is held alone.
  void KeepForSnapshots(uint64_t row);

  // Fixed after construction.
  const DType dtype_;
  const std::vector<int64_t> row_shape_;
  const uint64_t num_rows_;
  const size_t row_bytes_;
  const uint64_t rows_per_block_;

  FairSharedMutex mutex_;  // guards what memory_ points at, and the rest
  const std::shared_ptr<std::byte> memory_;
  std::vector<TensorSnapshot*> snapshots_;  // those that are open
};

// One tensor's rows at a point in time. Thread-safe.
class TensorSnapshot {
 public:
  ~TensorSnapshot();
  TensorSnapshot(const TensorSnapshot&) = delete;
  TensorSnapshot& operator=(const TensorSnapshot&) = delete;

  const TensorRows& rows() const { return *rows_; }
  // Local rows [first, first + count) to `out`, which has room for them; they exist (checked).
  void Read(uint64_t first, uint64_t count, std::byte* out) const;
  // Bytes that have been copied so far.
  uint64_t CopiedBytes() const;

 private:
  friend class TensorRows;
  explicit TensorSnapshot(std::shared_ptr<TensorRows> rows);

  const std::shared_ptr<TensorRows> rows_;
  std::vector<std::unique_ptr<std::byte[]>> kept_;  // by block; guarded by rows_->mutex_; null: still as it was
};

}  // namespace espalier::shard
