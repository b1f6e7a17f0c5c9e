// The mutable tensors of one partition by name: which exist, how much they may hold together, and what their rows
// stand for.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "services/base/mutex.h"
#include "services/graph/partition.h"
#include "services/sampler/access/partition_tensors.h"
#include "services/sampler/access/row_initializers.h"
#include "services/shard/original_edge_ids.h"
#include "services/shard/tensor_rows.h"

namespace espalier::shard {

struct MutableTensorLimits {
  uint64_t max_bytes = 0;             // of all tensors together
  uint64_t max_rows_per_request = 0;  // read or written
};

// Thread-safe. Answers on the asking thread, before the call returns; deadlines are the caller's concern, but Create's:
// it may wait for a plugin. It is Unavailable while original ids of edges that it needs are fetched. Dropping a tensor
// does not disturb who reads it.
class MutableTensors final : public sampler::PartitionTensors {
 public:
  // Book and partition outlive this. `initializers`: those of plugins; null: there are none.
  MutableTensors(const graph::PartitionBook& book, const graph::Partition& partition, const MutableTensorLimits& limits,
                 std::shared_ptr<const sampler::RowInitializers> initializers = nullptr);

  bool is_in_process() const override { return true; }
  void Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline deadline,
              sampler::Done<sampler::TensorDescription> done) override;
  void Complete(const sampler::TensorId& tensor, Deadline deadline, sampler::DoneStatus done) override;
  void Describe(const sampler::TensorId& tensor, Deadline deadline,
                sampler::Done<sampler::TensorDescription> done) override;
  void Drop(const sampler::TensorId& tensor, Deadline deadline, sampler::DoneStatus done) override;
  void Abandon(const sampler::TensorId& tensor, uint64_t maker, Deadline deadline, sampler::DoneStatus done) override;
  void Read(const sampler::TensorId& tensor, std::span<const LocalRowId> rows, sampler::RowSink sink, Deadline deadline,
            sampler::DoneStatus done) override;
  void Write(const sampler::TensorId& tensor, sampler::RowWrite write, std::vector<LocalRowId> rows, Tensor values,
             Deadline deadline, sampler::DoneStatus done) override;
  void Combine(const sampler::TensorId& tensor, sampler::RowWrite write, const sampler::TensorId& from,
               Deadline deadline, sampler::DoneStatus done) override;
  void Reduce(const sampler::TensorId& tensor, sampler::Reduction reduction, Deadline deadline,
              sampler::Done<Tensor> done) override;

  // From now on older incarnations of the job are refused, and what they have left is gone: the memory is given back
  // before this returns. Aborted for one that is older itself. Create does it too.
  Status EnterIncarnation(const std::string& job, uint64_t incarnation) ABSL_LOCKS_EXCLUDED(mutex_);

  // The rows of a tensor of this partition. NotFound names those that there are.
  Result<std::shared_ptr<TensorRows>> Find(const sampler::TensorId& tensor) const;
  // Original id of a local row. Those of edges may have to be fetched first: errors of OriginalEdgeIds::Of.
  Result<std::function<uint64_t(uint64_t row)>> OriginalIds(const sampler::RowSpace& rows) ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t SizeBytes() const;

 private:
  struct Entry {
    std::shared_ptr<TensorRows> rows;
    uint64_t num_own_rows = 0;
    uint64_t creation = 0;
    uint64_t maker = 0;
    uint64_t incarnation = 0;
    Deadline given_up;  // when a maker that has not completed it will not do so any more
    bool is_filled = false;
    bool is_complete = false;
  };
  using Key = std::tuple<std::string, sampler::RowsOf, uint16_t, std::string>;  // job, row space, type, name
  using Freed = std::vector<std::shared_ptr<TensorRows>>;  // memory that is given back when no lock is held
  static Key ToKey(const sampler::TensorId& tensor) {
    return {tensor.job, tensor.rows.of, tensor.rows.type, tensor.name};
  }

  Result<sampler::TensorDescription> Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline deadline);
  // Drops what older incarnations of the job have left; Aborted for one that is older itself.
  Status EnterIncarnation(const std::string& job, uint64_t incarnation, Freed& freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What has the name and is the answer to Create; none where the name is free, or has become free.
  Result<std::optional<sampler::TensorDescription>> FindOrFreeName(const sampler::TensorSpec& spec, uint64_t creation,
                                                                   Freed& freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckInitializerExists(const sampler::Initializer& initializer) const;
  // In place of zeros; nobody finds the rows meanwhile.
  Status FillNew(const sampler::TensorSpec& spec, const std::function<uint64_t(uint64_t)>& original_ids,
                 Deadline deadline, TensorRows& rows) const;
  Status CheckRoomFor(const std::string& what, uint64_t size_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(std::map<Key, Entry>::iterator entry, Freed& freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberDropped(uint64_t creation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static sampler::TensorDescription Described(const Entry& entry);
  uint64_t NextCreation() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // NotFound says why: none of the name, another number of rows, or another creation.
  Result<Entry> FindEntry(const sampler::TensorId& tensor) const ABSL_LOCKS_EXCLUDED(mutex_);
  Status CheckIsMeant(const sampler::TensorId& tensor, const Entry& entry) const;
  Status NoTensor(const sampler::TensorId& tensor) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckNoColumnHasTheName(const sampler::TensorId& tensor) const;
  Status CheckCount(size_t count) const;

  const graph::PartitionBook& book_;
  const graph::Partition& partition_;
  const MutableTensorLimits limits_;
  const std::shared_ptr<const sampler::RowInitializers> initializers_;
  OriginalEdgeIds original_edge_ids_;
  mutable Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> newest_incarnations_ ABSL_GUARDED_BY(mutex_);  // by job
  uint64_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  const uint64_t register_;  // upper half of creations' numbers
  uint64_t num_creations_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last creations that were dropped by their number: a Create that comes after its Drop makes nothing.
  std::set<uint64_t> dropped_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> dropped_in_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::shard
