// Mutable tensors over all partitions: routes global rows to their owners and combines the responses.
// client::DistTensor is a handle to such a tensor, and layer-wise inference stores its activations in such tensors.
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

// A tensor that has been created or found.
struct TensorHandle {
  TensorId id;  // with the creation number: a tensor that is dropped and created again has another number
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  bool made_by_this = false;  // whether the call that returned the handle created the tensor
};

// Thread-safe. A function calls all affected partitions concurrently; Create, Find and Drop call partition 0 before the
// others. A function's deadline is the deadline of its calls to partitions. The error of such a call names the
// partition. Internal: a server's response is inconsistent.
class PartitionedTensors {
 public:
  // All arguments must outlive this object. It may be destroyed while responses that have missed a deadline are still
  // to arrive, but not while one of its functions runs.
  PartitionedTensors(const graph::PartitionBook& book, const std::vector<std::shared_ptr<PartitionAccess>>& partitions,
                     BufferPool& row_buffers);
  // Waits up to 10 seconds for drops in the background.
  ~PartitionedTensors();
  PartitionedTensors(const PartitionedTensors&) = delete;
  PartitionedTensors& operator=(const PartitionedTensors&) = delete;

  const graph::PartitionBook& book() const { return book_; }

  // Creates rows with their first values on all partitions, or returns the existing tensor of the name, whichever
  // process created it, if dtype and shape are equal (its values are unchanged). AlreadyExists: the name belongs to a
  // tensor of another dtype or shape, or to an immutable column. If several processes create the same name at once, all
  // get the same tensor, created by one of them. NotFound: a server has lost its part of the tensor. After a failure,
  // created rows are dropped in the background, unless the tensor is complete on all partitions: then it stays.
  Result<TensorHandle> Create(const TensorSpec& spec, Deadline deadline);
  // Finds an existing tensor by its name. For own rows, 0 as the number of rows matches any number. NotFound: there is
  // no such tensor, it is not complete yet, or a server has lost its part of the tensor.
  Result<TensorHandle> Find(const TensorId& tensor, Deadline deadline);
  // Drops a tensor. Succeeds if it does not exist, or if another one has been created in its place, which is kept.
  // Without a creation number, drops any tensor with the name.
  Status Drop(const TensorId& tensor, Deadline deadline);
  // Like Drop, but returns at once, for destructors. The tensor must have a creation number. Errors are ignored;
  // after an error of partition 0, the other partitions keep their rows. A later Create of the name on this object
  // waits until the drop has ended.
  void DropLater(const TensorId& tensor);

  // Returns [rows.size(), row_shape...]; rows may be repeated.
  Result<Tensor> Read(const TensorHandle& tensor, std::span<const GlobalRowId> rows, Deadline deadline);
  // Writes rows. values: [rows.size(), row_shape...]. For kAssign the rows must be distinct; otherwise they may
  // be repeated, and this call's values are applied in order. A read that starts after this returns sees them. Returns
  // after all owners have responded. After a connection error or a timeout it is unknown which rows were written. Each
  // is then written once or not at all, perhaps only after this call has returned, but not after a later change through
  // this object has completed.
  Status Write(const TensorHandle& tensor, RowWrite write, std::span<const GlobalRowId> rows, const Tensor& values,
               Deadline deadline);
  // Combines every row of `into` with the same row of `from`. Both tensors must have the same rows, dtype and row
  // shape.
  Status Combine(const TensorHandle& into, RowWrite write, const TensorHandle& from, Deadline deadline);
  // Returns ReducedDType [row_shape...], the same bits for any partitioning: sums of floating-point numbers are exact
  // and rounded once at the end. FailedPrecondition: kMin or kMax of no rows.
  Result<Tensor> Reduce(const TensorHandle& tensor, Reduction reduction, Deadline deadline);
  // Returns, by partition, how many elements of the partition's rows are not 0.
  Result<std::vector<uint64_t>> CountNonzeroByPartition(const TensorHandle& tensor, Deadline deadline);

  // Returns the number of rows in all partitions. `rows` has passed CheckRowSpace.
  uint64_t NumRows(const RowSpace& rows) const { return FirstRows(rows, book_).back(); }
  // Returns a name that no client generates again, derived from a random number of this object.
  std::string GenerateName();

 private:
  // Names with drops in the background, one entry per drop. Shared with the callbacks.
  struct Drops {
    Mutex mutex;
    std::multiset<std::pair<RowSpace, std::string>> in_progress ABSL_GUARDED_BY(mutex);
  };

  uint64_t NewMaker();
  std::vector<PartitionId> OtherPartitions() const;  // all except partition 0
  Result<TensorDescription> DescribeAtFirstPartition(const TensorId& tensor, Deadline deadline);
  Result<TensorDescription> CreateAtFirstPartition(const TensorSpec& spec, Deadline deadline);
  Status CreateOnOtherPartitions(const TensorSpec& spec, uint64_t creation, Deadline deadline);
  Status CheckOthersHave(const TensorId& tensor, Deadline deadline);
  // Returns the handle of a complete tensor. Aborted: it has been dropped since it was found.
  Result<TensorHandle> ToCompleteHandle(const TensorId& name, const TensorDescription& found, Deadline deadline);
  Status DropOn(const std::vector<PartitionId>& partitions, const std::vector<TensorId>& tensors, Deadline deadline);
  Status DropUnlessOnFirst(const TensorId& name, Deadline deadline);
  // Drops, in the background, the rows that a failed Create has made. `creation` is the creation number that partition
  // 0 has returned, or 0 if it has returned none.
  void AbandonLater(const TensorSpec& spec, uint64_t creation);
  // Marks a drop as in progress for as long as the result lives.
  std::shared_ptr<const void> MarkDrop(const TensorId& tensor);
  void WaitForDrops(const TensorId& tensor, Deadline deadline);
  // Returns the part (PartitionTensors::Reduce) of each of these partitions, in the order of `requested`.
  Result<std::vector<Tensor>> ReadParts(const TensorHandle& tensor, Reduction reduction,
                                        const std::vector<PartitionId>& requested, Deadline deadline);
  Status CheckRows(const RowSpace& space, const std::vector<uint64_t>& first, std::span<const GlobalRowId> rows) const;

  const graph::PartitionBook& book_;
  const std::vector<std::shared_ptr<PartitionAccess>>& partitions_;
  BufferPool& row_buffers_;
  std::vector<bool> in_process_;  // by partition
  const uint64_t client_;         // random, for makers (TensorSpec::maker) and names that no other client generates
  const std::shared_ptr<Drops> drops_ = std::make_shared<Drops>();
  std::atomic<uint64_t> next_number_{0};  // for makers and generated names
};

}  // namespace espalier::sampler
