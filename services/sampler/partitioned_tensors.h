// Mutable tensors over all partitions: routes global rows to their owners and puts the answers together. What
// client::DistTensor is a handle of, and what layer-wise inference keeps its activations in.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/sampler/buffer_pool.h"
#include "services/sampler/partition_access.h"

namespace espalier::sampler {

// A tensor that has been created or found: all that is needed to use it.
struct TensorHandle {
  TensorId id;
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  uint64_t creation = 0;      // what made it
  bool made_by_this = false;  // true where the call that returned it made it; false: it was there
};

// Thread-safe. Every question goes to all partitions that it concerns at once and ends by its deadline; an error names
// a partition. What a server says that does not fit is Internal.
class PartitionedTensors {
 public:
  // Outlives every question under way, but not the partitions' answers after a deadline.
  PartitionedTensors(const graph::PartitionBook& book, const std::vector<std::shared_ptr<PartitionAccess>>& partitions,
                     BufferPool& row_buffers);

  const graph::PartitionBook& book() const { return book_; }

  // Rows with their first values, on all partitions; or the tensor that has the name, whoever made it, where dtype and
  // shape are the same (its values are as they are). AlreadyExists: another dtype or shape, or an immutable column.
  // Where several processes create the same name at once, all get the same tensor, which one of them made. What a
  // failed call has made it drops again.
  Result<TensorHandle> Create(const TensorSpec& spec, Deadline deadline);
  // A tensor that somebody has made, by its name. NotFound names those that there are.
  Result<TensorHandle> Find(const TensorId& tensor, Deadline deadline);
  // Dropping what does not exist is fine, and so is what somebody else has made in its place: that stays. A creation
  // of 0 drops whatever has the name.
  Status Drop(const TensorId& tensor, uint64_t creation, Deadline deadline);
  // The same without waiting: for destructors. Nobody hears of errors.
  void DropLater(const TensorId& tensor, uint64_t creation, Deadline deadline);

  // [rows.size(), row_shape...]; repetitions are allowed.
  Result<Tensor> Read(const TensorHandle& tensor, std::span<const GlobalRowId> rows, Deadline deadline);
  // values: [rows.size(), row_shape...]. kAssign: rows are distinct. Otherwise they may be repeated, and this call's
  // values are taken in their order. Acknowledged: a read that starts after it returns sees them. After an error of
  // the connection or of time it is not known whether they were taken: once, or not at all.
  Status Write(const TensorHandle& tensor, RowWrite write, std::span<const GlobalRowId> rows, const Tensor& values,
               Deadline deadline);
  // Every row of `into` with that of `from`: tensors of the same rows, dtype and shape.
  Status Combine(const TensorHandle& into, RowWrite write, const TensorHandle& from, Deadline deadline);
  // ReducedDType [row_shape...], the same bits for any partitioning: sums of floating numbers are exact until they are
  // rounded once. FailedPrecondition: a kMin or kMax of no rows.
  Result<Tensor> Reduce(const TensorHandle& tensor, Reduction reduction, Deadline deadline);

  // Rows in all partitions. The space has been checked.
  uint64_t NumRows(const RowSpace& rows) const { return FirstRows(rows, book_).back(); }
  // Never the same twice, on any client: from a number that this object drew.
  std::string AnonymousName();

 private:
  uint64_t NewCreation();
  Result<TensorDescription> CreateOn(uint32_t partition, const TensorSpec& spec, uint64_t creation, Deadline deadline);
  Status CreateElsewhere(const TensorSpec& spec, uint64_t creation, Deadline deadline);
  Status DropOn(const std::vector<PartitionId>& partitions, const TensorId& tensor, uint64_t creation,
                Deadline deadline);
  Status CheckRows(const RowSpace& space, const std::vector<uint64_t>& first, std::span<const GlobalRowId> rows) const;

  const graph::PartitionBook& book_;
  const std::vector<std::shared_ptr<PartitionAccess>>& partitions_;
  BufferPool& row_buffers_;
  std::vector<bool> answers_in_process_;  // by partition
  const uint64_t client_;                 // drawn once; no result depends on it
  std::atomic<uint64_t> next_act_{0};     // atomic, because any thread creates
};

}  // namespace espalier::sampler
