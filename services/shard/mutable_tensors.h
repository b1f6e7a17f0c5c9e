// The mutable tensors of one partition by name: which exist, how much they may hold together, and what their rows
// stand for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "services/base/mutex.h"
#include "services/graph/partition.h"
#include "services/sampler/partition_tensors.h"
#include "services/shard/tensor_rows.h"

namespace espalier::shard {

struct MutableTensorLimits {
  uint64_t max_bytes = 0;             // of all tensors together, and what open snapshots may come to
  uint64_t max_rows_per_request = 0;  // read or written
};

// Thread-safe. Answers on the asking thread, before the call returns; deadlines are the caller's concern. Dropping a
// tensor does not disturb who reads it.
class MutableTensors final : public sampler::PartitionTensors {
 public:
  // Both outlive this.
  MutableTensors(const graph::PartitionBook& book, const graph::Partition& partition,
                 const MutableTensorLimits& limits);

  bool is_in_process() const override { return true; }
  void Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline deadline,
              sampler::Done<sampler::TensorDescription> done) override;
  void Describe(const sampler::TensorId& tensor, Deadline deadline,
                sampler::Done<sampler::TensorDescription> done) override;
  void Drop(const sampler::TensorId& tensor, uint64_t creation, Deadline deadline, sampler::DoneStatus done) override;
  void Read(const sampler::TensorId& tensor, std::span<const LocalRowId> rows, sampler::RowSink sink, Deadline deadline,
            sampler::DoneStatus done) override;
  void Write(const sampler::TensorId& tensor, sampler::RowWrite write, std::vector<LocalRowId> rows, Tensor values,
             Deadline deadline, sampler::DoneStatus done) override;
  void Combine(const sampler::TensorId& tensor, sampler::RowWrite write, const std::string& from, Deadline deadline,
               sampler::DoneStatus done) override;
  void Reduce(const sampler::TensorId& tensor, sampler::Reduction reduction, Deadline deadline,
              sampler::Done<Tensor> done) override;

  // The rows of a tensor of this partition. NotFound names those that there are.
  Result<std::shared_ptr<TensorRows>> Find(const sampler::TensorId& tensor) const;
  // Original id of a local row; FailedPrecondition where the partition was loaded without them.
  Result<std::function<uint64_t(uint64_t row)>> OriginalIds(const sampler::RowSpace& rows) const;
  uint64_t SizeBytes() const;

 private:
  struct Entry {
    std::shared_ptr<TensorRows> rows;
    uint64_t num_own_rows = 0;
    uint64_t creation = 0;
    uint64_t incarnation = 0;
  };
  using Key = std::tuple<std::string, sampler::RowsOf, uint16_t, std::string>;  // job, row space, type, name
  static Key KeyOf(const sampler::TensorId& tensor) {
    return {tensor.job, tensor.rows.of, tensor.rows.type, tensor.name};
  }

  Result<sampler::TensorDescription> Create(const sampler::TensorSpec& spec, uint64_t creation);
  // Drops what older incarnations of the job have left; Aborted for one that is older itself.
  Status EnterIncarnation(const std::string& job, uint64_t incarnation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<Entry> FindEntry(const sampler::TensorId& tensor) const;
  Status CheckNoColumnHasTheName(const sampler::TensorId& tensor) const;
  Status CheckCount(size_t count) const;

  const graph::PartitionBook& book_;
  const graph::Partition& partition_;
  const MutableTensorLimits limits_;
  mutable Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> newest_incarnations_ ABSL_GUARDED_BY(mutex_);  // by job
  uint64_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::shard
