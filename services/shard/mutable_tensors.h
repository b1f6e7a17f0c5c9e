// The mutable tensors of one partition: their names, the limit on their memory, and the nodes or edges to which their
// rows belong (to neither with RowsOf::kOwn).
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

// Thread-safe. Calls complete on the calling thread before they return. They ignore deadlines, except for Create, which
// may wait for a plugin. If Create needs the original ids of edges, it returns Unavailable until they are fetched. A
// dropped tensor stays valid for readers that hold its TensorRows.
class MutableTensors final : public sampler::PartitionTensors {
 public:
  // `book` and `partition` outlive this. `initializers` are those of plugins; null: none.
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

  // Rejects older incarnations of the job from now on, and frees their tensors before it returns. Returns Aborted if
  // `incarnation` is older than the newest one. Create does the same.
  Status EnterIncarnation(const std::string& job, uint64_t incarnation) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the rows of a tensor. NotFound: the message lists the existing tensors if none has the name, or says how
  // the existing tensor of the name differs. Unavailable: the tensor is being filled.
  Result<std::shared_ptr<TensorRows>> Find(const sampler::TensorId& tensor) const;
  // Returns a function from local rows to original ids. For edges, returns the errors of OriginalEdgeIds, which may
  // have to fetch the ids first.
  Result<std::function<uint64_t(uint64_t row)>> MakeOriginalIdLookup(const sampler::RowSpace& rows)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether a tensor with this creation number was dropped lately; a Create with the number returns Aborted.
  bool WasDropped(uint64_t creation) const ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t SizeBytes() const;

 private:
  struct Entry {
    std::shared_ptr<TensorRows> rows;
    uint64_t num_own_rows = 0;
    uint64_t creation = 0;
    uint64_t maker = 0;
    uint64_t incarnation = 0;
    Deadline maker_deadline;  // after which the incomplete tensor counts as abandoned
    bool is_filled = false;
    bool is_complete = false;
  };
  using Key = std::tuple<std::string, sampler::RowsOf, uint16_t, std::string>;  // job, row space, type, name
  using Freed = std::vector<std::shared_ptr<TensorRows>>;                       // memory to free when no lock is held
  static Key ToKey(const sampler::TensorId& tensor) {
    return {tensor.job, tensor.rows.of, tensor.rows.type, tensor.name};
  }

  Result<sampler::TensorDescription> Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline deadline);
  // As the public function, but moves the memory that must be freed to `freed`.
  Status EnterIncarnation(const std::string& job, uint64_t incarnation, Freed& freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the existing tensor of the name, which Create then returns instead of a new one; nullopt if the name is
  // free, or if this call has freed it by erasing an abandoned or outdated tensor.
  Result<std::optional<sampler::TensorDescription>> FindOrFreeName(const sampler::TensorSpec& spec, uint64_t creation,
                                                                   Freed& freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckInitializerExists(const sampler::Initializer& initializer) const;
  // Fills new rows, which other calls cannot access yet, with the initial values.
  Status FillNew(const sampler::TensorSpec& spec, const std::function<uint64_t(uint64_t)>& original_ids,
                 Deadline deadline, TensorRows& rows) const;
  Status CheckRoomFor(const std::string& what, uint64_t size_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(std::map<Key, Entry>::iterator entry, Freed& freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberDropped(uint64_t creation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static sampler::TensorDescription ToDescription(const Entry& entry);
  uint64_t AssignCreation() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // NotFound gives the reason: the incarnation has no tensor of the name, or the tensor has another number of rows or
  // another creation number.
  Result<Entry> FindEntry(const sampler::TensorId& tensor) const ABSL_LOCKS_EXCLUDED(mutex_);
  Status CheckMatches(const sampler::TensorId& tensor, const Entry& entry) const;
  Status TensorNotFound(const sampler::TensorId& tensor) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckNameIsNotAColumn(const sampler::TensorId& tensor) const;
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
  // The random upper 32 bits of all creation numbers that this object assigns. They show which object has assigned a
  // number.
  const uint64_t registry_;
  uint64_t num_creations_ ABSL_GUARDED_BY(mutex_) = 0;
  // Creation numbers of the most recently dropped tensors: a Create that arrives after its Drop creates nothing.
  std::set<uint64_t> dropped_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> dropped_in_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::shard
