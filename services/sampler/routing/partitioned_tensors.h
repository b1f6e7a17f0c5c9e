// Mutable tensors over all partitions: routes global rows to their owners and puts the answers together. What
// client::DistTensor is a handle of, and what layer-wise inference keeps its activations in.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/buffer_pool.h"
#include "services/base/mutex.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// A tensor that has been created or found: all that is needed to use it.
struct TensorHandle {
  TensorId id;  // with its creation: what is made anew under the name is never taken for it
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  bool made_by_this = false;  // true where the call that returned it made it; false: it was there
};

// Thread-safe. Every question goes to all partitions that it concerns at once and ends by its deadline; an error names
// a partition. What a server says that does not fit is Internal.
class PartitionedTensors {
 public:
  // Outlives every question under way, but not the partitions' answers after a deadline.
  PartitionedTensors(const graph::PartitionBook& book, const std::vector<std::shared_ptr<PartitionAccess>>& partitions,
                     BufferPool& row_buffers);
  // Waits for drops in the background, a few seconds at most.
  ~PartitionedTensors();
  PartitionedTensors(const PartitionedTensors&) = delete;
  PartitionedTensors& operator=(const PartitionedTensors&) = delete;

  const graph::PartitionBook& book() const { return book_; }

  // Rows with their first values, on all partitions; or the tensor that has the name, whoever made it, where dtype and
  // shape are the same (its values are as they are). AlreadyExists: another dtype or shape, or an immutable column.
  // Where several processes create the same name at once, all get the same tensor, which one of them made. NotFound: a
  // server has lost its part of the tensor that has the name. What a failed call has made is dropped in the background,
  // unless it had become complete: then it has the name.
  Result<TensorHandle> Create(const TensorSpec& spec, Deadline deadline);
  // A tensor that somebody has made, by its name; of own rows, whatever their number where that is 0. NotFound names
  // those that there are.
  Result<TensorHandle> Find(const TensorId& tensor, Deadline deadline);
  // Dropping what does not exist is fine, and so is what somebody else has made in its place: that stays. Without a
  // creation: whatever has the name.
  Status Drop(const TensorId& tensor, Deadline deadline);
  // The same without waiting, of one creation: for destructors. Nobody hears of errors. A Create of the name on this
  // object comes after it.
  void DropLater(const TensorId& tensor);

  // [rows.size(), row_shape...]; repetitions are allowed.
  Result<Tensor> Read(const TensorHandle& tensor, std::span<const GlobalRowId> rows, Deadline deadline);
  // values: [rows.size(), row_shape...]. kAssign: rows are distinct. Otherwise they may be repeated, and this call's
  // values are taken in their order. Acknowledged: a read that starts after it returns sees them. Ends when all owners
  // have answered. After an error of the connection or of time it is not known which rows were taken, each once or not
  // at all; but none is taken after this has returned and a later change of this object has.
  Status Write(const TensorHandle& tensor, RowWrite write, std::span<const GlobalRowId> rows, const Tensor& values,
               Deadline deadline);
  // Every row of `into` with that of `from`: tensors of the same rows, dtype and shape.
  Status Combine(const TensorHandle& into, RowWrite write, const TensorHandle& from, Deadline deadline);
  // ReducedDType [row_shape...], the same bits for any partitioning: sums of floating numbers are exact until they are
  // rounded once. FailedPrecondition: a kMin or kMax of no rows.
  Result<Tensor> Reduce(const TensorHandle& tensor, Reduction reduction, Deadline deadline);
  // By partition: how many elements of its rows are not 0.
  Result<std::vector<uint64_t>> CountNonzeroByPartition(const TensorHandle& tensor, Deadline deadline);

  // Rows in all partitions. The space has been checked.
  uint64_t NumRows(const RowSpace& rows) const { return FirstRows(rows, book_).back(); }
  // Never the same twice, on any client: from a number that this object drew.
  std::string AnonymousName();

 private:
  // Names with a drop in the background, as often as there are drops. Shared with the answers.
  struct Drops {
    Mutex mutex;
    std::multiset<std::pair<RowSpace, std::string>> under_way ABSL_GUARDED_BY(mutex);
  };

  uint64_t NewAct();
  std::vector<PartitionId> Others() const;  // but the first
  Result<TensorDescription> DescribedByFirst(const TensorId& tensor, Deadline deadline);
  Result<TensorDescription> DecidedByFirst(const TensorSpec& spec, Deadline deadline);
  Status MakeElsewhere(const TensorSpec& spec, uint64_t creation, Deadline deadline);
  Status CheckOthersHave(const TensorId& tensor, Deadline deadline);
  // Aborted: it has been dropped since it was found.
  Result<TensorHandle> FoundComplete(const TensorId& name, const TensorDescription& found, Deadline deadline);
  Status DropOn(const std::vector<PartitionId>& partitions, const std::vector<TensorId>& tensors, Deadline deadline);
  Status DropWhatFirstHasNot(const TensorId& name, Deadline deadline);
  // What a failed Create has made; `creation` is 0 where it does not know that.
  void AbandonLater(const TensorSpec& spec, uint64_t creation);
  // Held as long as the drop is under way.
  std::shared_ptr<const void> DropUnderWay(const TensorId& tensor);
  void WaitForDrops(const TensorId& tensor, Deadline deadline);
  // Of each of these partitions, in their order.
  Result<std::vector<Tensor>> ReadParts(const TensorHandle& tensor, Reduction reduction,
                                        const std::vector<PartitionId>& asked, Deadline deadline);
  Status CheckRows(const RowSpace& space, const std::vector<uint64_t>& first, std::span<const GlobalRowId> rows) const;

  const graph::PartitionBook& book_;
  const std::vector<std::shared_ptr<PartitionAccess>>& partitions_;
  BufferPool& row_buffers_;
  std::vector<bool> answers_in_process_;  // by partition
  const uint64_t client_;                 // drawn once; no result depends on it
  const std::shared_ptr<Drops> drops_ = std::make_shared<Drops>();
  std::atomic<uint64_t> next_act_{0};  // atomic, because any thread creates
};

}  // namespace espalier::sampler
